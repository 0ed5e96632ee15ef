"""Values of wrong types in replies, as the JavaScript of Gemini CLI and Qwen Code converts them."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from anyhook.agents.gemini.coercions import to_string

NUMBERS = """
0 -0 -0.0 1 -1 1.0 1.5 -2.50 100.5 0.1 123456789 1e2 1e-2
0.0001 0.00001 1.5e-5 -1.25e-6 1e-6 9.9e-7 1e-7 -1e-7 5e-324
1e15 1e16 1.5e16 -123456789012345680000 1e20 1.2345678901234567e20 1e21 1.5e21 -1e100 1e308
9007199254740991 9007199254740993 12345678901234567890 123456789012345678901 1e400 -1e400
""".split()
NUMBERS += ["1" + "0" * 400, "-1" + "0" * 400]
SCRIPT = "for (const text of process.argv.slice(1)) console.log(String(JSON.parse(text)))"


def test_a_number_is_written_as_javascript_writes_it():
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    command = [node, "-e", SCRIPT, "--", *NUMBERS]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert [to_string(json.loads(number)) for number in NUMBERS] == output.splitlines()

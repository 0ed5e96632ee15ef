"""Guards that look for secrets, on events whose secrets were replaced when they were stored."""

from __future__ import annotations

import re

import pytest

from anyhook.backtest.sources import insert_examples, remove_examples
from anyhook.secrets.examples import EXAMPLES
from tests.backtest.test_backtest import Recorded, shell

KEY = "AKIA" + "Q7RT5XW2ZPL8MN3K"
GUARD = """
import re
from anyhook.authoring import Hooks, deny
hooks = Hooks()

@hooks.before_tool("shell")
def guard(event):
    found = re.search(r"AKIA[0-9A-Z]{16}", event.text)
    if found:
        return deny(f"remove {found[0]}")
"""


@pytest.fixture
def recorded(tmp_path):
    return Recorded(tmp_path)


def test_examples_are_replaced_by_the_same_placeholders():
    text = " ".join(f"a[redacted:{kind}]b" for kind in EXAMPLES) + " [redacted:$TOKEN] [redacted:x]"

    with_examples = insert_examples(text)

    assert "[redacted:x]" in with_examples
    assert "[redacted:$TOKEN]" in with_examples
    assert not re.search("redacted:[a-z0-9]+-", with_examples)
    assert remove_examples(with_examples) == text


@pytest.mark.slow
def test_a_guard_for_keys_denies_what_it_denied_when_it_was_recorded(recorded):
    decision = {"outcome": "deny", "reason": f"remove {KEY}"}
    recorded.add(shell(1, f"echo {KEY}")._replace(decision=decision), shell(2, "ls"))

    (decided,) = recorded.run(recorded.hook(GUARD)).result.decided

    assert decided.decision["reason"] == "remove [redacted:aws-key]"
    assert decided.reconstructed == ("secrets",)
    assert decided.text == "echo [redacted:aws-key]"

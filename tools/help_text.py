"""Write the help of the program into a module, from the commands.

The program prints it without its commands: importing all of them takes a third of a second.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import anyhook
from anyhook.cli.app import GROUPS

MODULE = Path(anyhook.__file__).parent / "_help_text.py"
COLUMNS = 80
SCRIPT = "from anyhook.cli import main; raise SystemExit(main(['--help']))"
TEMPLATE = '''"""What `anyhook --help` prints. `make stubs` writes this file."""

COLUMNS = {columns}
COMMANDS = (
{names}
)
HELP = """\\
{text}"""
'''


def render() -> str:
    """Return the help as a terminal without colors shows it."""
    variables = {"COLUMNS": str(COLUMNS), "NO_COLOR": "1", "TERM": "dumb"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, **variables, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return "\n".join(line.rstrip() for line in done.stdout.strip("\n").split("\n")) + "\n"


def generate() -> str:
    """Return the text of the module."""
    commands = [name for names in GROUPS.values() for name in names]
    names = "\n".join(f'    "{name}",' for name in commands)
    return TEMPLATE.format(columns=COLUMNS, names=names, text=render())


if __name__ == "__main__":
    MODULE.write_text(generate(), encoding="utf-8")

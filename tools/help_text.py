"""Write the help of the program into a module, from the first sentences of its commands' help.

The program prints it without its commands: importing all of them takes a third of a second.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import anyhook
from anyhook.cli.app import COMMANDS, PLUMBING, import_command

if TYPE_CHECKING:
    from collections.abc import Iterable

MODULE = Path(anyhook.__file__).parent / "_help_text.py"
TEMPLATE = '''"""The help of the program. `make stubs` writes this file."""

COMMANDS = (
{names}
)
HELP = """\\
anyhook COMMAND: hooks of AI coding agents. For more: anyhook COMMAND --help
{commands}
plumbing: anyhook help plumbing
"""
PLUMBING = """\\
Commands that agents, plugins and shells run. For more: anyhook COMMAND --help
{plumbing}
"""
'''


def _lines(names: Iterable[str]) -> str:
    """Return a line for each command: its words, and the first sentence of its help."""
    summaries: dict[str, str] = {}
    for name in names:
        paragraph = (import_command(COMMANDS[name]).__doc__ or "").partition("\n\n")[0]
        summaries[name] = " ".join(paragraph.split()).partition(". ")[0].rstrip(".")
    width = max(map(len, summaries))
    return "\n".join(f"  {name:{width}}  {summary}." for name, summary in summaries.items())


def generate() -> str:
    """Return the text of the module."""
    first_words = dict.fromkeys(name.partition(" ")[0] for name in COMMANDS)
    plumbing = [name for name in COMMANDS if name.partition(" ")[0] in PLUMBING]
    return TEMPLATE.format(
        names="\n".join(f'    "{word}",' for word in first_words),
        commands=_lines(word for word in first_words if word not in PLUMBING),
        plumbing=_lines(plumbing),
    )


if __name__ == "__main__":
    MODULE.write_text(generate(), encoding="utf-8")

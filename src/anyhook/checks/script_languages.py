"""The languages of scripts whose outputs and exit codes are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyhook.checks.flow import facts_of_flow
from anyhook.checks.javascript_facts import javascript_facts
from anyhook.checks.python_flow import python_flow
from anyhook.checks.shell_flow import shell_flow

if TYPE_CHECKING:
    from pathlib import Path

    from anyhook.checks.script_facts import ScriptFacts

LANGUAGES = {
    ".py": "python",
    ".sh": "shell",
    ".bash": "shell",
    ".zsh": "shell",
    ".js": "javascript",
    ".mjs": "javascript",
    ".cjs": "javascript",
    ".ts": "javascript",
}
_SHEBANGS = {"python": "python", "sh": "shell", "node": "javascript", "bun": "javascript"}


def language_of(path: Path, text: str) -> str | None:
    """Return the language of a script, by its suffix or its first line."""
    by_suffix = LANGUAGES.get(path.suffix)
    if by_suffix or not text.startswith("#!"):
        return by_suffix
    first_line = text.partition("\n")[0]
    for interpreter, language in _SHEBANGS.items():
        if interpreter in first_line:
            return language
    return None


def facts_of(language: str, text: str) -> ScriptFacts:
    """Collect what the text of a script shows.

    Args:
        language: `python`, `shell` or `javascript`.
        text: The script.
    """
    match language:
        case "python":
            return facts_of_flow(python_flow(text))
        case "shell":
            return facts_of_flow(shell_flow(text))
    return javascript_facts(text)

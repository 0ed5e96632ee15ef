"""Writes `docs/json.md`: the members that commands write under `--json`, and their types.

The page is made of the files in `tests/data/json`; a test compares them with what commands write.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from anyhook.cli.app import words_of

ROOT = Path(__file__).parents[1]
FILES = ROOT / "tests" / "data" / "json"
PAGE = ROOT / "docs" / "json.md"
INTRODUCTION = ROOT / "tools" / "json_page.md"
FREE = frozenset(
    "by_event outcomes blame degraded counts unstable files hooks events sessions_with tools "
    "sources".split()
)
"""Members whose own members have free names."""
FREE_PATHS = frozenset(
    {"agents capabilities", "agents capabilities.NAME", "agents capabilities.NAME.NAME"}
)
OPAQUE = frozenset("event payload wire reply tool_input answer value options env extra".split())
"""Members whose content is that of an agent or of a hook."""
TYPES = {"str": "text", "int": "number", "float": "number", "bool": "boolean", "dict": "object"}
WORDS = (
    "reconstructed context system_messages problems first variables files warnings notes old "
    "unclear difference not_run crashes"
)
OBJECTS = (
    "did_not_run differences workers ended untrusted directories groups combined overrode examples "
    "messages"
)
UNSEEN = {
    **dict.fromkeys(WORDS.split(), "array of text"),
    **dict.fromkeys(OBJECTS.split(), "array of objects"),
    **dict.fromkeys(("llm_request", "llm_response", "tool_config", "tail_tool_call"), "object"),
    **dict.fromkeys(("signal", "error", "unknown_tool", "switched_off_by", "if", "settle"), "text"),
    **dict.fromkeys(("native_trust", "traceback", "description", "extension", "refused"), "text"),
    "changed_files": "array of objects",
    "used": "number",
    "result": "text",
    "refusal": "text",
    "tool_output": "any value",
    "crashes": "array of objects",
    "NAME": "array of text",
}
"""Members that are null or empty in every file, to the types of what they may hold."""


def _read() -> dict[str, list[Any]]:
    """Return the values that each command wrote, by its name."""
    values: dict[str, list[Any]] = {}
    for file in sorted(FILES.glob("*.json")):
        content = json.loads(file.read_text(encoding="utf-8"))
        name = words_of(content["command"].split()[1:])
        values.setdefault(name, []).extend(content["output"])
    return values


def _add(types: dict[str, set[str]], value: Any, path: str) -> None:
    """Note the types of a value and of all members in it."""
    name = path.rpartition(".")[2].removesuffix("[]")
    if isinstance(value, dict):
        types.setdefault(path, set()).add("dict")
        if name in OPAQUE or (name == "decision" and "[]" in path):
            return
        is_free = path.rpartition(".")[2] in FREE or path in FREE_PATHS
        for key, member in value.items():
            _add(types, member, f"{path}.{'NAME' if is_free else key}")
    elif isinstance(value, list):
        types.setdefault(path, set()).add("array of" if value else "array")
        for item in value:
            _add(types, item, f"{path}[]")
    else:
        types.setdefault(path, set()).add("" if value is None else type(value).__name__)


def _type_of(path: str, types: dict[str, set[str]]) -> str:
    """Return the type of a member in words.

    Raises:
        KeyError: If no file shows it, and `UNSEEN` does not have it.
    """
    seen = types[path]
    names = sorted({TYPES[name] for name in seen if name in TYPES})
    if "array of" in seen:
        items = types[f"{path}[]"]
        plural = {"object": "objects", "number": "numbers"}
        kinds = sorted({TYPES[name] for name in items if name in TYPES})
        names.append("array of " + " or ".join(plural.get(kind, kind) for kind in kinds))
    if not names:
        names.append(UNSEEN[path.rpartition(".")[2]])
    return " or ".join([*names, "null"] if "" in seen else names)


def _section(command: str, values: list[Any]) -> str:
    types: dict[str, set[str]] = {}
    for value in values:
        _add(types, value, command)
    rows = ["| object | members |", "| --- | --- |"]
    for path in types:
        below = [other for other in types if other.startswith(f"{path}.") and other[-1] != "]"]
        own = [other for other in below if other.removeprefix(path).count(".") == 1]
        if own:
            texts = [f"`{other.rpartition('.')[2]}` {_type_of(other, types)}" for other in own]
            rows.append(f"| {_title(path, command)} | {', '.join(texts)} |")
    table = "\n".join(rows)
    return f"\n## anyhook {command}\n\n{table}\n"


def _title(path: str, command: str) -> str:
    rest = path.removeprefix(command)
    if rest in ("", "[]"):
        return "each of the array" if rest else "the whole"
    return f"`{rest.removeprefix('[]').removeprefix('.')}`"


def page() -> str:
    """Return the text of the page."""
    sections = [_section(name, values) for name, values in sorted(_read().items())]
    return INTRODUCTION.read_text(encoding="utf-8") + "".join(sections)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

"""Writes `docs/json.md`: the members that commands write under `--json`, and their types.

The page is made of the files in `tests/data/json`; a test compares them with what commands write.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

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
    **dict.fromkeys(WORDS.split(), "texts"),
    **dict.fromkeys(OBJECTS.split(), "objects"),
    **dict.fromkeys(("llm_request", "llm_response", "tool_config", "tail_tool_call"), "object"),
    **dict.fromkeys(("signal", "error", "unknown_tool", "switched_off_by", "if", "settle"), "text"),
    **dict.fromkeys(("native_trust", "traceback", "description", "extension", "refused"), "text"),
    "changed_files": "objects",
    "used": "number",
    "result": "text",
    "refusal": "text",
    "tool_output": "any value",
    "crashes": "objects",
    "NAME": "texts",
}
"""Members that are null or empty in every file, to the types of what they may hold."""

MAY_BE_NULL = {
    "diagnostics[]": frozenset({"file", "line", "column"}),
    "health[]": frozenset({"line"}),
    "health": frozenset({"line"}),
}
"""Objects to members that are null where a problem has no place, or only a file."""


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
    if _has_free_names(path, types):
        names.remove("object")
        names.append(f"{{{_type_of(f'{path}.NAME', types)}}}")
    if "array of" in seen:
        items = types[f"{path}[]"]
        kinds = sorted({TYPES[name] for name in items if name in TYPES})
        names.append(" or ".join(f"{kind}s" for kind in kinds))
    if not names:
        names.append(UNSEEN[path.rpartition(".")[2]])
    return " or ".join(names)


def _has_free_names(path: str, types: dict[str, set[str]]) -> bool:
    """Return whether an object has free names and no objects as values."""
    name = f"{path}.NAME"
    return name in types and "dict" not in types[name] and f"{name}[].NAME" not in types


class Row(NamedTuple):
    """An object and its members."""

    title: str
    members: str


def _rows(command: str, values: list[Any]) -> list[Row]:
    """Return a row for each object of a command."""
    types: dict[str, set[str]] = {}
    for value in values:
        _add(types, value, command)
    rows: list[Row] = []
    for path in types:
        if _has_free_names(path, types):
            continue
        below = [other for other in types if other.startswith(f"{path}.") and other[-1] != "]"]
        own = [other for other in below if other.removeprefix(path).count(".") == 1]
        if own:
            texts = [_member(other, types) for other in own]
            rows.append(Row(_title(path, command), ", ".join(texts)))
    return rows


def _member(path: str, types: dict[str, set[str]]) -> str:
    """Return a member with its type; the type `text` is left out, and `?` stands for null."""
    words = re.sub(r"^text\b ?", "", _type_of(path, types))
    owner, _, name = path.rpartition(".")
    may_be_null = name in MAY_BE_NULL.get(owner.rpartition(".")[2], ())
    mark = "?" if "" in types[path] or may_be_null else ""
    return f"`{name}`{mark} {words}".strip()


def _title(path: str, command: str) -> str:
    rest = path.removeprefix(command)
    if rest in ("", "[]"):
        return "`[]`" if rest else "`.`"
    return f"`{rest.removeprefix('[]').removeprefix('.')}`"


def page() -> str:
    """Return the text of the page."""
    text = INTRODUCTION.read_text(encoding="utf-8")
    commands: dict[tuple[Row, ...], str] = {}
    places: dict[str, str] = {}
    for name, values in sorted(_read().items()):
        rows = _rows(name, values)
        first = commands.setdefault(tuple(rows), name)
        lines = ["|object|members|", "|---|---|"]
        for row in rows:
            place = places.setdefault(row.members, f"{row.title} of `{name}`")
            is_repeated = place != f"{row.title} of `{name}`" and row.members.count(",") > 2
            lines.append(f"|{row.title}|{f'as {place}' if is_repeated else row.members}|")
        content = "\n".join(lines) if first == name else f"The same as `anyhook {first}`."
        text += f"\n## anyhook {name}\n\n{content}\n"
    return text


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

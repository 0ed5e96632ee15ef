"""Parts of the turns and candidates of the Gemini API, of which the stable form holds the text."""

from __future__ import annotations

from typing import Any

PARTS = (
    "functionCall",
    "functionResponse",
    "inlineData",
    "fileData",
    "executableCode",
    "codeExecutionResult",
    "text",
)
"""Members by which the kind of a part is recognized."""


def object_or_empty(value: object) -> dict[str, Any]:
    """Return a value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def list_or_empty(value: object) -> list[Any]:
    """Return a value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def is_text(part: Any) -> bool:
    """Return whether a part holds a text; it may hold more, like a signature."""
    return isinstance(part, dict) and isinstance(part.get("text"), str)


def is_plain(part: Any) -> bool:
    """Return whether a part holds a text and nothing else."""
    return is_text(part) and len(part) == 1


def without_text(parts: list[Any]) -> list[Any]:
    """Return the parts that are not text."""
    return [part for part in parts if not is_text(part)]


def typed(part: Any) -> dict[str, Any]:
    """Add the `type` of a part; a part whose kind is unknown, or with a `type`, is wrapped."""
    kind = _kind_of(part)
    if kind is None:
        return {"type": "part", "part": part}
    return {"type": kind, **part}


def _kind_of(part: Any) -> str | None:
    # A part that has a `type` of its own would lose it on the way back (`untyped`).
    if not isinstance(part, dict) or "type" in part:
        return None
    for kind in PARTS:
        if kind in part:
            return kind
    return None


def untyped(part: dict[str, Any]) -> Any:
    """Return the part that `typed` made a typed part of."""
    if part.get("type") == "part" and "part" in part:
        return part["part"]
    return {key: value for key, value in part.items() if key != "type"}


def with_text(parts: list[Any], texts: list[str]) -> list[Any]:
    """Put texts where the first text part was; remove the others, keep all other parts.

    Thoughts are removed, too: they may repeat what a hook removed from the text. The first new text
    gets what the first text part that is not a thought has next to its text, like a signature.
    """
    new_parts: list[Any] = [{"text": text} for text in texts]
    if new_parts:
        new_parts[0] = {**_first_answer_part(parts), **new_parts[0]}
    index = _index_of_text(parts)
    return [*parts[:index], *new_parts, *without_text(parts[index:])]


def _index_of_text(parts: list[Any]) -> int:
    """Return the index of the first text part; 0 if there is none."""
    for index, part in enumerate(parts):
        if is_text(part):
            return index
    return 0


def _first_answer_part(parts: list[Any]) -> dict[str, Any]:
    """Return the first text part that is not a thought; an empty one if there is none."""
    for part in parts:
        if is_text(part) and not part.get("thought"):
            return dict(part)
    return {}


def change_texts(parts: list[Any], texts: list[str]) -> list[Any]:
    """Replace the texts of parts one by one; if their number differs, all of them at once."""
    text_indexes = [index for index, part in enumerate(parts) if is_text(part)]
    if len(text_indexes) != len(texts):
        return with_text(parts, texts)
    changed = list(parts)
    for index, text in zip(text_indexes, texts, strict=True):
        changed[index] = {**parts[index], "text": text}
    return changed

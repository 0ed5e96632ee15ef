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
    # A part that has a `type` of its own would lose it on the way back (`untyped`).
    if isinstance(part, dict) and "type" not in part:
        for kind in PARTS:
            if kind in part:
                return {"type": kind, **part}
    return {"type": "part", "part": part}


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
    text_indexes = [index for index, part in enumerate(parts) if is_text(part)]
    answers = [parts[index] for index in text_indexes if not parts[index].get("thought")]
    if new_parts and answers:
        new_parts[0] = {**answers[0], **new_parts[0]}
    first = text_indexes[0] if text_indexes else 0
    return [*parts[:first], *new_parts, *without_text(parts[first:])]


def change_texts(parts: list[Any], texts: list[str]) -> list[Any]:
    """Replace the texts of parts one by one; if their number differs, all of them at once."""
    text_indexes = [index for index, part in enumerate(parts) if is_text(part)]
    if len(text_indexes) != len(texts):
        return with_text(parts, texts)
    changed = list(parts)
    for index, text in zip(text_indexes, texts, strict=True):
        changed[index] = {**parts[index], "text": text}
    return changed

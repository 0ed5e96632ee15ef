"""Turns of the Gemini API as stable messages, and changed messages as turns again.

A turn of plain text becomes a message with a string. A turn with other parts becomes a message with
a list in which every part keeps its members and gets a `type`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from anyhook.model.json import dump_json, repair
from anyhook.model.llm import ROLES

if TYPE_CHECKING:
    from collections.abc import Mapping

PARTS = tuple(
    "functionCall functionResponse inlineData fileData executableCode "
    "codeExecutionResult text".split()
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


# -- turns as messages


def turns_of(api: Mapping[str, Any]) -> list[Any]:
    """Return the turns of a request; a single one needs no list around it."""
    contents = api.get("contents")
    if contents is None:
        return []
    if isinstance(contents, list):
        return contents
    return [contents]


def message_of(entry: Any) -> dict[str, Any]:
    """Return a turn as a stable message."""
    if isinstance(entry, str):
        return {"role": "user", "content": entry}
    role = object_or_empty(entry).get("role")
    if role not in ROLES:
        role = "user"
    parts = _entry_parts(entry)
    if all(is_plain(part) for part in parts):
        return {"role": role, "content": "".join([part["text"] for part in parts])}
    return {"role": role, "content": [typed(part) for part in parts]}


def _entry_parts(entry: Any) -> list[Any]:
    if not isinstance(entry, dict):
        return []
    if not _is_turn(entry):
        return [entry]  # a bare part
    return list_or_empty(entry.get("parts"))


def _is_turn(entry: dict[str, Any]) -> bool:
    """Return whether an object is a turn; the API also takes a part in the place of a turn."""
    return "role" in entry or "parts" in entry


# -- messages as turns


_Turn = tuple[Any, Any]
"""A turn of the original conversation: as the API has it, and as a stable message."""


@dataclass(slots=True)
class ModelConversation:
    """A conversation that hooks changed.

    Its instructions are new messages of role `system`, which the API takes outside of the turns.
    """

    contents: list[Any] = field(default_factory=list)
    instructions: list[str] = field(default_factory=list)


def realign(entries: list[Any], before: list[Any], after: list[Any]) -> ModelConversation:
    """Return the changed conversation as the API takes it.

    Every message is compared with the original turns, so that a turn which hooks did not change
    stays the original, and a changed one keeps its parts that are not text. `before` is the
    original turns as stable messages, `after` what hooks left of them.
    """
    originals = list(zip(entries, before, strict=True))
    # With `autojunk`, a message that is often repeated among 200 or more counts as changed.
    matcher = SequenceMatcher(None, _keys_of(before), _keys_of(after), autojunk=False)
    conversation = ModelConversation()
    contents = conversation.contents
    for operation, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if operation == "equal":
            contents += entries[old_start:old_end]
            continue
        # A message is merged with the next turn of its role. What is not text in the turns that are
        # skipped this way, or remain at the end, is kept, so that no function call loses its
        # result.
        remaining = originals[old_start:old_end]
        for message in after[new_start:new_end]:
            roles = [original["role"] for _, original in remaining]
            if message["role"] in roles:
                index = roles.index(message["role"])
                entry, _ = remaining[index]
                contents += _non_text_turns(remaining[:index])
                contents.append(_rewrite(entry, message))
                remaining = remaining[index + 1 :]
            elif message["role"] == "system":
                content = message["content"]
                if not isinstance(content, str):
                    content = "".join([part["text"] for part in content if is_text(part)])
                conversation.instructions.append(content)
            else:
                contents.append(_content(message))
        contents += _non_text_turns(remaining)
    return conversation


def _keys_of(messages: list[Any]) -> list[bytes]:
    # Objects are not hashable. Those of frameworks also hold values that JSON does not have.
    return [dump_json(repair(message)) for message in messages]


def _non_text_turns(removed: list[_Turn]) -> list[Any]:
    """Return what remains of turns that were removed: turns of their parts that are not text."""
    turns: list[Any] = []
    for entry, _ in removed:
        parts = without_text(_entry_parts(entry))
        if not parts:
            continue
        if _is_turn(entry):
            turns.append({"role": "user", **entry, "parts": parts})
        else:
            turns.append({"role": "user", "parts": parts})
    return turns


def _rewrite(entry: Any, message: dict[str, Any]) -> Any:
    """Return a turn with the content of a message; parts that are not text are kept."""
    content = message["content"]
    if isinstance(entry, str) and isinstance(content, str):
        return content
    if not isinstance(entry, dict):
        return _content(message)
    parts = _entry_parts(entry)
    if isinstance(content, str):
        parts = with_text(parts, [content])
    else:
        new_parts = [untyped(part) for part in content]
        missing = [part for part in without_text(parts) if part not in new_parts]
        parts = new_parts + missing
    if _is_turn(entry):
        return {**entry, "parts": parts}
    return {"role": message["role"], "parts": parts}


def _content(message: dict[str, Any]) -> dict[str, Any]:
    role, content = message["role"], message["content"]
    if isinstance(content, str):
        return {"role": role, "parts": [{"text": content}]}
    return {"role": role, "parts": [untyped(part) for part in content]}

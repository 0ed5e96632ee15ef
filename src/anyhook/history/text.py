"""What is indexed of an event for searches.

The index does not keep the words, so removing an event from it takes the same text again: a change
here needs a new `anyhook.history.schema.VERSION`, with which the index is built anew.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MAX_TEXT = 1_000_000
"""Characters of an event that are indexed."""
MIN_BINARY = 4096
"""Characters of a string without a blank from which it is not text: an image in base64, which would
fill the index with words that are never searched for."""
_BLANK = re.compile(r"\s")
LEFT_OUT = frozenset(
    "session_id transcript_path cwd timestamp hook_event_name sessionId workspaceRoots "
    "tool_use_id prompt_id conversation_id generation_id".split()
)
"""Members that every event has, which find nothing."""


def searched_text(
    payload: Mapping[str, Any], decision: Mapping[str, Any] | None, refusal: str | None
) -> str:
    """Return the words by which an event is found: of its payload and of the reasons."""
    texts: list[str] = [refusal] if refusal else []
    room = MAX_TEXT
    if decision:
        room = _collect(decision.get("reason"), texts, room)
    for name, value in payload.items():
        if room <= 0:
            break
        if name not in LEFT_OUT:
            room = _collect(value, texts, room)
    return "\n".join(texts)


def _collect(value: Any, texts: list[str], room: int) -> int:
    """Add the strings in a JSON value, and return the characters that are left."""
    if isinstance(value, str):
        if len(value) >= MIN_BINARY and _BLANK.search(value, 0, MIN_BINARY) is None:
            return room
        part = value[:room]
        texts.append(part)
        return room - len(part)
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list):
        return room
    for item in value:
        if room <= 0:
            break
        room = _collect(item, texts, room)
    return room


def mark(kind: str, value: str) -> str:
    """Return the word in the index for a property of an event, like its tool.

    The value may be any text; letters and digits in its hexadecimal form cannot be split.
    """
    return f"x{kind}{value.encode('utf-8', 'surrogatepass').hex()}"


def marks(values: Iterable[tuple[str, str | None]]) -> str:
    """Return the words for several properties; those that are `None` are left out."""
    return " ".join([mark(kind, value) for kind, value in values if value is not None])


def query_of(text: str) -> str:
    """Return the full-text query for what a user typed: all of its words must occur.

    Words in quotation marks must follow each other, and one with `*` at its end is the beginning of
    a word. Nothing else has a meaning, so that a command line can be searched as it is.
    """
    terms: list[str] = []
    for phrase in _phrases(text):
        end = "*" if phrase.endswith("*") else ""
        terms.append(f'text:"{phrase}"{end}')
    return " AND ".join(terms)


def has_words(payload: str, text: str) -> bool:
    """Return whether all words occur that a user typed, in a payload that is not in the index.

    The payload is JSON text, `text` what `query_of` takes.
    """
    if not text:
        return True
    words = re.findall(r"\w+", payload.casefold())
    joined = f" {' '.join(words)} "
    for phrase in _phrases(text):
        words_of_phrase = " ".join(re.findall(r"\w+", phrase.casefold()))
        end = "" if phrase.endswith("*") else " "
        if f" {words_of_phrase}{end}" not in joined:
            return False
    return True


def excerpt(text: str, words: str, width: int) -> str:
    """Return the part of a text with the first of the words that a user typed; empty without one.

    `text` is the `searched_text` of an event, `words` what `query_of` takes, `width` a number of
    characters.
    """
    for phrase in _phrases(words):
        pattern = r"[\W_]+".join(re.findall(r"\w+", phrase))
        hit = re.search(rf"\b{pattern}", text, re.IGNORECASE)
        if hit is None:  # it has an accent, or is written in another way
            continue
        start = max(0, hit.start() - (width - len(hit[0])) // 2)
        part = " ".join(text[start : start + width].split())
        if start:
            part = f"…{part}"
        if start + width < len(text):
            part = f"{part}…"
        return part
    return ""


def _phrases(text: str) -> list[str]:
    """Return the words that a user typed; those in quotation marks are one phrase."""
    phrases: list[str] = []
    for number, part in enumerate(text.split('"')):
        is_quoted = number % 2 == 1
        if is_quoted:
            phrases.append(part)
        else:
            phrases += part.split()
    return [phrase for phrase in phrases if any(letter.isalnum() for letter in phrase)]

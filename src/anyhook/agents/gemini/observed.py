"""Output as an agent takes it that checks no types: what JavaScript makes of each member.

Members that take the place of another hook's do so whatever they are; `None` is a wrong value that
does. (Source: releases of Gemini CLI, `RuleSet.unchecked`.)
"""

from __future__ import annotations

from anyhook.model.answers import Outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from anyhook.model.draft import DecisionDraft, FieldValue


def read_unchecked(field: str, value: object, fields: dict[str, Any]) -> None:
    """Read a member that is there, over what a reader that checks types made of it.

    Args:
        field: Field of `Answer` that the member is for.
        value: What was printed.
        fields: The fields of the answer so far; changed.
    """
    if field in READERS:
        READERS[field](field, value, fields)


def is_truthy(value: object) -> bool:
    """Tell whether a JSON value is true to JavaScript: every list and object is."""
    return isinstance(value, dict | list) or bool(value)


def to_string(value: object) -> str:
    """Turn a JSON value into a string as JavaScript's `String` does."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, list):
        return ",".join("" if item is None else to_string(item) for item in value)
    return _number(value) if isinstance(value, int | float) else "[object Object]"


def _number(value: float) -> str:
    if isinstance(value, int) or (value.is_integer() and abs(value) < 1e21):
        return str(int(value))
    return repr(value).replace("e-0", "e-")


def _word(field: str, _value: object, fields: dict[str, Any]) -> None:
    fields.setdefault(field, Outcome.ALLOW)


def _text(field: str, value: object, fields: dict[str, Any]) -> None:
    fields[field] = to_string(value) if is_truthy(value) else ""


def _stop(field: str, value: object, fields: dict[str, Any]) -> None:
    fields[field] = value is False


def _object(field: str, value: object, fields: dict[str, Any]) -> None:
    fields[field] = value if isinstance(value, dict) else None


def _members(field: str, value: object, fields: dict[str, Any]) -> None:
    """Read what only has its members looked at; anything else that is true has none."""
    fields[field] = value if isinstance(value, dict) else ({} if is_truthy(value) else None)


def _tool_config(field: str, value: object, fields: dict[str, Any]) -> None:
    fields.pop(field, None)
    if isinstance(value, dict):
        from anyhook.model.llm import MODES

        mode, names = value.get("mode"), value.get("allowedFunctionNames")
        found = {"mode": mode} if mode in MODES else {}
        if isinstance(names, list | str):  # of a text, every character is a name
            found["allowedFunctionNames"] = [name for name in names if isinstance(name, str)]
        fields[field] = found


READERS: dict[str, Callable[[str, object, dict[str, Any]], None]] = {
    "outcome": _word,
    "reason": _text,
    "stop": _stop,
    "stop_reason": _text,
    "system_message": _text,
    "tool_input": _object,
    "tail_tool_call": _object,
    "llm_request": _members,
    "llm_response": _members,
    "tool_config": _tool_config,
}
"""Field of an answer to how it is read; the others only count if they have the right type."""


# -- how the releases combine the values of several hooks (`EventSpec.combine`)


def merge_request(draft: DecisionDraft, name: str, values: list[FieldValue]) -> None:
    """Lay the last partial request over the event's; its messages replace the first ones.

    Sampling parameters that it does not name are unset.
    """
    from anyhook.model.llm import SAMPLING

    last, base = values[-1], draft.event_object(name)
    model = last.value.get("model")
    merged = {**base, "model": base.get("model") if model is None else model}
    messages = last.value.get("messages")
    if isinstance(messages, list) and all(isinstance(message, dict) for message in messages):
        own_messages = base.get("messages") or ()
        changed = [_with_text_content(message) for message in messages]
        merged["messages"] = [*changed, *own_messages[len(messages) :]]
    config = last.value.get("config")
    if is_truthy(config):
        sampling = config if isinstance(config, dict) else {}
        merged["config"] = {key: sampling[key] for key in SAMPLING if sampling.get(key) is not None}
    if merged != base:
        draft.set(name, merged, [last.blame()])


def _with_text_content(message: dict[str, Any]) -> dict[str, Any]:
    if "content" not in message:
        return message
    return {**message, "content": to_string(message["content"])}


def take_response_of_denial(draft: DecisionDraft, name: str, values: list[FieldValue]) -> None:
    """Use the last response only with a denial; one that cannot be used cancels the denial."""
    if draft.outcome is not Outcome.DENY or draft.stops:
        return
    last = values[-1]
    if not _is_usable(last.value):
        draft.discard("outcome", "reason", "llm_request")
        return
    candidates = [{"finishReason": "STOP", **candidate} for candidate in last.value["candidates"]]
    draft.set(name, {**last.value, "candidates": candidates}, [last.blame()])


def take_shown_response(draft: DecisionDraft, name: str, values: list[FieldValue]) -> None:
    """Use the last response if nothing denies or stops, and its first candidate has parts."""
    last = values[-1]
    if draft.stops or draft.outcome is Outcome.DENY or not _is_usable(last.value):
        return
    candidates = last.value["candidates"]
    if candidates and candidates[0]["content"]["parts"]:
        draft.set(name, last.value, [last.blame()])


def _is_usable(response: dict[str, Any]) -> bool:
    """Return whether a response has a list of candidates and every candidate has parts."""
    candidates = response.get("candidates")
    return isinstance(candidates, list) and all(map(_has_parts, candidates))


def _has_parts(candidate: object) -> bool:
    content = candidate.get("content") if isinstance(candidate, dict) else None
    return isinstance(content, dict) and isinstance(content.get("parts"), list)

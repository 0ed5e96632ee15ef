"""How Gemini CLI 0.61 interprets what commands print, and replies with members of a wrong type.

It checks no types, so each member counts for what JavaScript makes of it. A value of any type
replaces the one of an earlier hook; `None` stands for a value that is unusable.
"""

from __future__ import annotations

from anyhook.agents.printed import PrintedOutput
from anyhook.agents.printed import classify as classify_json
from anyhook.agents.spec import Coercions
from anyhook.model.answers import Outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Fields = dict[str, Any]

INFINITY = float("inf")
SAMPLING = ("temperature", "maxOutputTokens", "topP", "topK")


# -- what commands print


def classify(printed: str) -> PrintedOutput:
    """Return the form of a stream of which a JSON string is plain text, with its quotes."""
    output = classify_json(printed)
    if isinstance(output.value, str) and not output.is_encoded_twice:
        return PrintedOutput("text", output.text, output.value)
    return output


# -- values


def is_truthy(value: object) -> bool:
    """Return whether a JSON value is true in JavaScript: every list and object is."""
    return isinstance(value, dict | list) or bool(value)


def to_string(value: object) -> str:
    """Convert a JSON value to a string as JavaScript's `String` does."""
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        # `Array.prototype.join` writes nothing for null, alone it is "null".
        items = ["" if item is None else to_string(item) for item in value]
        return ",".join(items)
    if not isinstance(value, int | float):
        return "[object Object]"
    # JavaScript holds every number as a float.
    try:
        number = float(value)
    except OverflowError:  # an integer that no float holds
        number = INFINITY if value > 0 else -INFINITY
    sign = "-" if number < 0 else ""
    magnitude = abs(number)
    if magnitude == INFINITY:
        return f"{sign}Infinity"
    mantissa, _, exponent = repr(magnitude).removesuffix(".0").partition("e")
    if not exponent:
        return f"{sign}{mantissa}"
    # Python writes an exponent below 1e-4 and from 1e16 on, JavaScript below 1e-6 and from 1e21 on.
    power = int(exponent)
    if magnitude < 1e-6 or magnitude >= 1e21:
        return f"{sign}{mantissa}e{power:+d}"
    digits = mantissa.replace(".", "")
    if power < 0:
        zeros = "0" * (-power - 1)
        return f"{sign}0.{zeros}{digits}"
    return sign + digits.ljust(power + 1, "0")


# -- members of one reply


def _read_word(field: str, _value: object, fields: Fields) -> None:
    # The release compares with `block`, `deny` and `ask`, which were read: all other words allow.
    fields.setdefault(field, Outcome.ALLOW)


def _read_text(field: str, value: object, fields: Fields) -> None:
    fields[field] = to_string(value) if is_truthy(value) else ""


def _read_stop(field: str, value: object, fields: Fields) -> None:
    # The release compares with `===`, so `0` and `"false"` do not stop.
    fields[field] = value is False


def _read_object(field: str, value: object, fields: Fields) -> None:
    fields[field] = value if isinstance(value, dict) else None


def _read_members(field: str, value: object, fields: Fields) -> None:
    # Only the members are read: any other value that is true acts like an object without members.
    if isinstance(value, dict):
        fields[field] = value
    elif is_truthy(value):
        fields[field] = {}
    else:
        fields[field] = None


def _read_tool_config(field: str, value: object, fields: Fields) -> None:
    fields.pop(field, None)
    if not isinstance(value, dict):
        return
    from anyhook.model.llm import MODES  # late: most replies have no such member

    config: dict[str, Any] = {}
    if value.get("mode") in MODES:
        config["mode"] = value["mode"]
    names = value.get("allowedFunctionNames")
    if isinstance(names, list | str):  # iterating a string gives its characters
        config["allowedFunctionNames"] = [name for name in names if isinstance(name, str)]
    fields[field] = config


MEMBER_READERS: dict[str, Callable[[str, object, Fields], None]] = {
    "outcome": _read_word,
    "reason": _read_text,
    "stop": _read_stop,
    "stop_reason": _read_text,
    "system_message": _read_text,
    "tool_input": _read_object,
    "tail_tool_call": _read_object,
    "llm_request": _read_members,
    "llm_response": _read_members,
    "tool_config": _read_tool_config,
}
"""Field of an answer to its reader. All other fields count only if they have the right type."""


def read_member(field: str, value: object, fields: Fields) -> None:
    """Read a member of a reply, after it was read with a check of its type.

    `field` is the field of `Answer` that the member sets. `fields` holds those so far; it is
    changed.
    """
    if field in MEMBER_READERS:
        MEMBER_READERS[field](field, value, fields)


# -- replies of several hooks


def replace_request(
    _decided: Mapping[str, Any], request: dict[str, Any], override: Any
) -> dict[str, Any]:
    """Merge the last partial request with the event's.

    Messages replace the first ones; sampling parameters that are not named are unset.
    """
    merged = dict(request)
    merged["model"] = override.get("model")
    if merged["model"] is None:
        merged["model"] = request.get("model")
    messages = override.get("messages")
    if isinstance(messages, list) and all(isinstance(message, dict) for message in messages):
        # The release merges by position: turns for which there is no message stay.
        remaining = (request.get("messages") or ())[len(messages) :]
        converted = [dict(message) for message in messages]
        for message in converted:
            if "content" in message:
                message["content"] = to_string(message["content"])
        merged["messages"] = [*converted, *remaining]
    config = override.get("config")
    if is_truthy(config):
        sampling = config if isinstance(config, dict) else {}
        names = [name for name in SAMPLING if sampling.get(name) is not None]
        merged["config"] = {name: sampling[name] for name in names}
    if merged == request:
        return {}
    return {"llm_request": merged}


def respond_if_denied(
    decided: Mapping[str, Any], _response: dict[str, Any], override: Any
) -> dict[str, Any]:
    """Take the last response if the event is denied; an unusable one also cancels the denial."""
    is_denied = decided.get("outcome") is Outcome.DENY
    if decided.get("stop") or not is_denied:
        return {}
    if not _is_usable(override):
        # Converting it raises: the denial is lost, and the model is called.
        return {"outcome": None, "reason": None, "llm_request": None}
    candidates = [{"finishReason": "STOP", **candidate} for candidate in override["candidates"]]
    return {"llm_response": {**override, "candidates": candidates}}


def respond_unless_denied(
    decided: Mapping[str, Any], _response: dict[str, Any], override: Any
) -> dict[str, Any]:
    """Take the last response if there is no verdict and its first candidate has parts."""
    is_denied = decided.get("outcome") is Outcome.DENY
    if decided.get("stop") or is_denied or not _is_usable(override):
        return {}
    candidates = override["candidates"]
    if not candidates or not candidates[0]["content"]["parts"]:
        return {}
    return {"llm_response": override}


def _is_usable(response: dict[str, Any]) -> bool:
    """Return whether a response has a list of candidates, all of which have parts."""
    candidates = response.get("candidates")
    if not isinstance(candidates, list):
        return False
    for candidate in candidates:
        content = candidate.get("content") if isinstance(candidate, dict) else None
        if not isinstance(content, dict) or not isinstance(content.get("parts"), list):
            return False
    return True


# -- sequences


def _merge_shallowly(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    return {**old, **new}


REPLACED = frozenset({"tool_input", "llm_request", "llm_response", "tail_tool_call"})
"""Fields of which only the last value counts, also if it is unusable."""

COERCIONS = Coercions(
    read_member=read_member,
    cleared=REPLACED,
    policies={
        "replace_request": replace_request,
        "respond_if_denied": respond_if_denied,
        "respond_unless_denied": respond_unless_denied,
    },
    chain={
        "tool_input": _merge_shallowly,
        "context": lambda old, new: f"{old}\n\n{new}",
        "llm_request": _merge_shallowly,
    },
)

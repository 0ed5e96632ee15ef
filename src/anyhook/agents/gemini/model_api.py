"""The stable model API to and from the Gemini API, without loss.

Requests have the form of the SDK (`model`, `contents`, `config`) or of the REST API
(`generationConfig`, `toolConfig` and `systemInstruction` at the top). An override is laid over the
request that it was made for: what the stable form does not show (function calls, images, tools,
safety settings) stays where it was, and a request that nobody changed comes back equal. Text that
is replaced takes the thoughts beside it along: they may repeat what a hook removed.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from anyhook.model.json import dump_json, repair
from anyhook.model.llm import COUNTS, ROLES, flat_tool_config

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from anyhook.model.llm import LLMRequest, LLMResponse, ToolConfig

CALLS = "functionCalls"
"""Member of a stable candidate that shows the model's function calls."""
SAMPLING = ("temperature", "maxOutputTokens", "topP", "topK")
RATING = ("category", "probability", "blocked")
PARTS = (
    "functionCall",
    "functionResponse",
    "inlineData",
    "fileData",
    "executableCode",
    "codeExecutionResult",
    "text",
)
"""Members of a part that tell what it is."""


def request_from_api(api: Mapping[str, Any]) -> LLMRequest:
    """Show an API request in the stable form.

    A turn of plain text becomes a string; a turn with other parts becomes a list in which every
    part keeps its members and gets a `type`.

    Args:
        api: A request as the SDK or the REST API takes it.

    Returns:
        A stable request.
    """
    request: dict[str, Any] = {"model": api.get("model") or ""}
    request["messages"] = [_message(entry) for entry in _entries(api)]
    config = _config(api)
    request["config"] = {k: config[k] for k in SAMPLING if config.get(k) is not None}
    calling = _tool_holder(api).get("toolConfig") or {}
    flat = calling.get("functionCallingConfig") if isinstance(calling, dict) else None
    if isinstance(flat, dict):
        request["toolConfig"] = dict(flat)
    return request  # type: ignore[return-value]


def request_to_api(api: Mapping[str, Any], request: LLMRequest) -> dict[str, Any]:
    """Lay a stable request over the API request that it was made from.

    Args:
        api: The original request; not modified.
        request: The stable request, whole, as a decision carries it.

    Returns:
        A new API request. Turns that the hooks left alone are the original's; non-text parts
        survive, also those of turns that the hooks left out; messages of role `system` that are
        new are added to the system instruction.
    """
    before = request_from_api(api)
    changed = dict(api)
    if request.get("model") and request["model"] != before["model"]:
        changed["model"] = request["model"]
    messages = request.get("messages", before["messages"])
    if messages != before["messages"]:
        contents, instructions = _realign(
            list(_entries(api)), list(before["messages"]), list(messages)
        )
        changed["contents"] = contents
        if instructions:
            _instruct(changed, instructions)
    _apply_config(changed, before, request)
    _apply_tool_config(changed, before, request)
    return changed


def response_from_api(api: Mapping[str, Any]) -> LLMResponse:
    """Show an API response in the stable form; parts are the texts of text parts.

    The function calls of a candidate are in `functionCalls`, so that a hook sees them; the
    reference has no place for them. They are only shown: what a hook writes there changes nothing.

    Args:
        api: A response of the API, or one chunk of a streamed one.

    Returns:
        A stable response. Its `text` leaves thoughts out.
    """
    given = api.get("candidates")
    candidates = [c for c in given if isinstance(c, dict)] if isinstance(given, list) else []
    response: dict[str, Any] = {"candidates": [_candidate(c) for c in candidates]}
    if candidates and _texts(candidates[0]):
        first = _parts(candidates[0])
        response["text"] = "".join(
            part["text"] for part in first if _is_text(part) and not part.get("thought")
        )
    usage = api.get("usageMetadata")
    if isinstance(usage, dict):
        response["usageMetadata"] = {k: usage[k] for k in COUNTS if k in usage}
    return response  # type: ignore[return-value]


def response_to_api(api: Mapping[str, Any] | None, response: LLMResponse) -> dict[str, Any]:
    """Lay a stable response over the API response that it was made from.

    Args:
        api: The original response, or `None` for a synthetic one; not modified.
        response: The stable response, whole.

    Returns:
        A new API response. Function calls and other non-text parts stay where they were.
    """
    before = response_from_api(api or {})
    changed = dict(api or {})
    if response.get("candidates") != before["candidates"]:
        given = changed.get("candidates")
        old = [c for c in given if isinstance(c, dict)] if isinstance(given, list) else []
        was = before["candidates"]
        changed["candidates"] = [
            _change_candidate(
                old[i] if i < len(old) else {}, dict(was[i]) if i < len(was) else {}, dict(new)
            )
            for i, new in enumerate(response.get("candidates") or [])
        ]
    usage = response.get("usageMetadata")
    if usage is not None and usage != before.get("usageMetadata"):
        known = changed.get("usageMetadata")
        changed["usageMetadata"] = {**(known if isinstance(known, dict) else {}), **usage}
    return changed


def tool_config_to_api(config: ToolConfig) -> dict[str, Any]:
    """Write a tool configuration as the API takes it."""
    return {"functionCallingConfig": flat_tool_config(config)}


# -- requests


def _entries(api: Mapping[str, Any]) -> Iterator[Any]:
    contents = api.get("contents")
    if contents is None:
        return
    yield from contents if isinstance(contents, list) else [contents]


def _message(entry: Any) -> dict[str, Any]:
    if isinstance(entry, str):
        return {"role": "user", "content": entry}
    role = entry.get("role") if isinstance(entry, dict) else None
    parts = _entry_parts(entry)
    if all(_is_plain(part) for part in parts):
        content: Any = "".join(part["text"] for part in parts)
    else:
        content = [_typed(part) for part in parts]
    return {"role": role if role in ROLES else "user", "content": content}


def _entry_parts(entry: Any) -> list[Any]:
    if not isinstance(entry, dict):
        return []
    if "role" not in entry and "parts" not in entry:
        return [entry]  # a bare part
    parts = entry.get("parts")
    return parts if isinstance(parts, list) else []


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and isinstance(part.get("text"), str)


def _is_plain(part: Any) -> bool:
    return _is_text(part) and len(part) == 1


def _typed(part: Any) -> dict[str, Any]:
    kind = next((k for k in PARTS if isinstance(part, dict) and k in part), None)
    if kind is None or "type" in part:
        return {"type": "part", "part": part}
    return {"type": kind, **part}


def _untyped(part: dict[str, Any]) -> Any:
    if part.get("type") == "part" and "part" in part:
        return part["part"]
    return {key: value for key, value in part.items() if key != "type"}


def _realign(
    entries: list[Any], before: list[Any], after: list[Any]
) -> tuple[list[Any], list[str]]:
    """Find which original turn each message comes from, and carry its other parts over."""
    old, new = ([dump_json(repair(m)) for m in many] for many in (before, after))
    contents: list[Any] = []
    instructions: list[str] = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            contents += entries[i1:i2]
            continue
        left = list(range(i1, i2))
        for message in after[j1:j2]:
            twin = next((i for i in left if before[i]["role"] == message["role"]), None)
            if twin is not None:
                skipped = left[: left.index(twin)]
                contents += [e for i in skipped for e in _rest_of(entries[i])]
                left = left[left.index(twin) + 1 :]
                contents.append(_rewrite(entries[twin], message))
            elif message["role"] == "system":
                instructions.append(_text_of(message["content"]))
            else:
                contents.append(_content(message))
        contents += [e for i in left for e in _rest_of(entries[i])]
    return contents, instructions


def _rest_of(entry: Any) -> list[Any]:
    """Return what survives of a turn that was left out: a turn of its non-text parts."""
    rest = [part for part in _entry_parts(entry) if not _is_text(part)]
    if not rest:
        return []
    return [{"role": "user", **(entry if "parts" in entry else {}), "parts": rest}]


def _rewrite(entry: Any, message: dict[str, Any]) -> Any:
    content = message["content"]
    if isinstance(entry, str):
        return content if isinstance(content, str) else _content(message)
    parts = _entry_parts(entry)
    if isinstance(content, list):
        new_parts = [_untyped(part) for part in content]
        new_parts += [part for part in parts if not _is_text(part) and part not in new_parts]
    else:
        new_parts = _with_text(parts, [content])
    if not isinstance(entry, dict) or ("parts" not in entry and "role" not in entry):
        return {"role": message["role"], "parts": new_parts}
    return {**entry, "parts": new_parts}


def _with_text(parts: list[Any], texts: list[str]) -> list[Any]:
    """Put texts where the first text part was; drop the others, keep every non-text part.

    What the first text part carries beside its text (a signature) stays with the first new text.
    """
    first = next((i for i, part in enumerate(parts) if _is_text(part)), 0)
    head = [part for part in parts[:first] if not _is_text(part)]
    tail = [part for part in parts[first:] if not _is_text(part)]
    spoken: dict[str, Any] = next(
        (part for part in parts if _is_text(part) and not part.get("thought")), {}
    )
    new = [{**(spoken if i == 0 else {}), "text": text} for i, text in enumerate(texts)]
    return [*head, *new, *tail]


def _content(message: dict[str, Any]) -> dict[str, Any]:
    content = message["content"]
    parts = [{"text": content}] if isinstance(content, str) else [_untyped(p) for p in content]
    return {"role": message["role"], "parts": parts}


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in content if _is_text(part))


def _is_rest(api: Mapping[str, Any]) -> bool:
    rest = ("generationConfig", "toolConfig", "systemInstruction", "safetySettings", "tools")
    return "config" not in api and any(key in api for key in rest)


def _config(api: Mapping[str, Any]) -> dict[str, Any]:
    found = api.get("generationConfig" if _is_rest(api) else "config")
    return found if isinstance(found, dict) else {}


def _tool_holder(api: Mapping[str, Any]) -> Mapping[str, Any]:
    return api if _is_rest(api) else _config(api)


def _set_beside_tools(changed: dict[str, Any], key: str, value: Any) -> None:
    """Set a member that is in `config` in the SDK's form and at the top in the REST form."""
    if _is_rest(changed):
        changed[key] = value
    else:
        changed["config"] = {**_config(changed), key: value}


def _instruct(changed: dict[str, Any], instructions: list[str]) -> None:
    current = _tool_holder(changed).get("systemInstruction")
    added = [{"text": text} for text in instructions]
    if isinstance(current, str):
        value: Any = "\n\n".join([current, *instructions])
    elif isinstance(current, list):
        value = [*current, *added]
    elif isinstance(current, dict) and "parts" in current:
        value = {**current, "parts": [*(current["parts"] or []), *added]}
    else:
        value = {"parts": [*([current] if isinstance(current, dict) else []), *added]}
    _set_beside_tools(changed, "systemInstruction", value)


def _apply_config(changed: dict[str, Any], before: LLMRequest, request: LLMRequest) -> None:
    old, new = dict(before.get("config") or {}), dict(request.get("config") or {})
    different = {key: value for key, value in new.items() if old.get(key) != value}
    if different:
        where = "generationConfig" if _is_rest(changed) else "config"
        changed[where] = {**_config(changed), **different}


def _apply_tool_config(changed: dict[str, Any], before: LLMRequest, request: LLMRequest) -> None:
    new = request.get("toolConfig")
    if new is None or flat_tool_config(new) == before.get("toolConfig"):
        return
    current = _tool_holder(changed).get("toolConfig")
    kept = current if isinstance(current, dict) else {}
    _set_beside_tools(changed, "toolConfig", {**kept, **tool_config_to_api(new)})


# -- responses


def _parts(candidate: Mapping[str, Any]) -> list[Any]:
    content = candidate.get("content")
    parts = content.get("parts") if isinstance(content, dict) else None
    return parts if isinstance(parts, list) else []


def _texts(candidate: Mapping[str, Any]) -> list[str]:
    return [part["text"] for part in _parts(candidate) if _is_text(part)]


def _is_call(part: Any) -> bool:
    return isinstance(part, dict) and isinstance(part.get("functionCall"), dict)


def _candidate(candidate: Mapping[str, Any]) -> dict[str, Any]:
    shown: dict[str, Any] = {"content": {"role": "model", "parts": _texts(candidate)}}
    for key in ("finishReason", "index"):
        if candidate.get(key) is not None:
            shown[key] = candidate[key]
    calls = [part["functionCall"] for part in _parts(candidate) if _is_call(part)]
    if calls:
        shown[CALLS] = calls
    ratings = candidate.get("safetyRatings")
    if isinstance(ratings, list):
        shown["safetyRatings"] = [
            {k: r[k] for k in RATING if k in r} for r in ratings if isinstance(r, dict)
        ]
    return shown


def _change_candidate(
    original: dict[str, Any], before: dict[str, Any], after: dict[str, Any]
) -> dict[str, Any]:
    changed = dict(original)
    texts = (after.get("content") or {}).get("parts")
    if texts is not None and texts != _texts(original):
        changed["content"] = {
            "role": "model",
            **(original["content"] if isinstance(original.get("content"), dict) else {}),
            "parts": _change_texts(_parts(original), texts),
        }
    for key in after.keys() - {"content", CALLS}:
        if after[key] != before.get(key):
            changed[key] = after[key]
    return changed


def _change_texts(parts: list[Any], texts: list[str]) -> list[Any]:
    old = [part for part in parts if _is_text(part)]
    if len(old) != len(texts):
        return _with_text(parts, texts)
    new = iter(texts)
    return [{**part, "text": next(new)} if _is_text(part) else part for part in parts]

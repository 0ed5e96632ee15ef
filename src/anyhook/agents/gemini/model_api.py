"""The stable model API to and from the Gemini API, without loss.

Requests have the form of the SDK (`model`, `contents`, `config`) or of the REST API
(`generationConfig`, `toolConfig` and `systemInstruction` at the top). An override is merged with
the request that it was made for: what the stable form does not show (function calls, images, tools,
safety settings) stays where it was, and a request without changes stays equal. The thoughts beside
a text that is replaced are removed, because they may repeat what a hook has removed.
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
"""Members by which the kind of a part is recognized."""


def request_from_api(api: Mapping[str, Any]) -> LLMRequest:
    """Return an API request in the stable form.

    A turn of plain text becomes a string; a turn with other parts becomes a list in which every
    part keeps its members and gets a `type`.

    Args:
        api: A request as the SDK or the REST API takes it.
    """
    config = _config(api)
    request: dict[str, Any] = {
        "model": api.get("model") or "",
        "messages": [_message(entry) for entry in _entries(api)],
        "config": {key: config[key] for key in SAMPLING if config.get(key) is not None},
    }
    tool_config = _tool_holder(api).get("toolConfig")
    if isinstance(tool_config, dict):
        calling_config = tool_config.get("functionCallingConfig")
        if isinstance(calling_config, dict):
            request["toolConfig"] = dict(calling_config)
    return request  # type: ignore[return-value]


def request_to_api(api: Mapping[str, Any], request: LLMRequest) -> dict[str, Any]:
    """Merge a stable request with the API request that it was made from.

    Args:
        api: The original request; not modified.
        request: The whole stable request, as a decision has it.

    Returns:
        A new API request. Turns that hooks did not change are the original ones; parts that are
        not text are kept, also those of turns that hooks removed; new messages of role `system`
        are added to the system instruction.
    """
    before = request_from_api(api)
    changed = dict(api)
    model = request.get("model")
    if model and model != before["model"]:
        changed["model"] = model
    messages = request.get("messages", before["messages"])
    if messages != before["messages"]:
        contents, instructions = _realign(
            list(_entries(api)), list(before["messages"]), list(messages)
        )
        changed["contents"] = contents
        if instructions:
            _add_instructions(changed, instructions)
    _apply_config(changed, before, request)
    _apply_tool_config(changed, before, request)
    return changed


def response_from_api(api: Mapping[str, Any]) -> LLMResponse:
    """Return an API response in the stable form; parts are the texts of text parts.

    The function calls of a candidate are in `functionCalls`, so that hooks see them; the
    reference has no place for them. Changes of `functionCalls` have no effect.

    Args:
        api: A response of the API, or one chunk of a streamed one.

    Returns:
        A stable response. Its `text` has no thoughts.
    """
    candidates = _candidates(api)
    response: dict[str, Any] = {"candidates": [_candidate(item) for item in candidates]}
    if candidates and _texts(candidates[0]):
        text_parts = [part for part in _parts(candidates[0]) if _is_text(part)]
        answer = [part["text"] for part in text_parts if not part.get("thought")]
        response["text"] = "".join(answer)
    usage = api.get("usageMetadata")
    if isinstance(usage, dict):
        response["usageMetadata"] = {key: usage[key] for key in COUNTS if key in usage}
    return response  # type: ignore[return-value]


def response_to_api(api: Mapping[str, Any] | None, response: LLMResponse) -> dict[str, Any]:
    """Merge a stable response with the API response that it was made from.

    Args:
        api: The original response, or `None` for a synthetic one; not modified.
        response: The whole stable response.

    Returns:
        A new API response. Function calls and other parts that are not text stay where they were.
    """
    before = response_from_api(api or {})
    changed = dict(api or {})
    if response.get("candidates") != before["candidates"]:
        originals, shown = _candidates(changed), before["candidates"]
        candidates = []
        for index, candidate in enumerate(response.get("candidates") or []):
            original = originals[index] if index < len(originals) else {}
            old = dict(shown[index]) if index < len(shown) else {}
            candidates.append(_change_candidate(original, old, dict(candidate)))
        changed["candidates"] = candidates
    usage = response.get("usageMetadata")
    if usage is not None and usage != before.get("usageMetadata"):
        counts = changed.get("usageMetadata")
        changed["usageMetadata"] = {**(counts if isinstance(counts, dict) else {}), **usage}
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
    """Return the turns of a changed conversation, and the new system instructions.

    Every message is compared with the original turns, so that a turn which hooks did not change
    stays the original, and a changed one keeps its parts that are not text.
    """
    old = [dump_json(repair(message)) for message in before]
    new = [dump_json(repair(message)) for message in after]
    contents: list[Any] = []
    instructions: list[str] = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            contents += entries[i1:i2]
            continue
        remaining = list(range(i1, i2))
        for message in after[j1:j2]:
            original = _next_of_role(before, remaining, message["role"])
            if original is not None:
                position = remaining.index(original)
                contents += _non_text_turns(entries, remaining[:position])
                contents.append(_rewrite(entries[original], message))
                remaining = remaining[position + 1 :]
            elif message["role"] == "system":
                instructions.append(_text_of(message["content"]))
            else:
                contents.append(_content(message))
        contents += _non_text_turns(entries, remaining)
    return contents, instructions


def _next_of_role(messages: list[Any], indexes: list[int], role: str) -> int | None:
    for index in indexes:
        if messages[index]["role"] == role:
            return index
    return None


def _non_text_turns(entries: list[Any], indexes: list[int]) -> list[Any]:
    """Return what remains of turns that were removed: turns of their parts that are not text."""
    turns = []
    for index in indexes:
        entry = entries[index]
        parts = [part for part in _entry_parts(entry) if not _is_text(part)]
        if parts:
            own = entry if "parts" in entry else {}
            turns.append({"role": "user", **own, "parts": parts})
    return turns


def _rewrite(entry: Any, message: dict[str, Any]) -> Any:
    """Return a turn with the content of a message; parts that are not text are kept."""
    content = message["content"]
    if isinstance(entry, str):
        return content if isinstance(content, str) else _content(message)
    parts = _entry_parts(entry)
    if isinstance(content, list):
        new_parts = [_untyped(part) for part in content]
        new_parts += [part for part in parts if not _is_text(part) and part not in new_parts]
    else:
        new_parts = _with_text(parts, [content])
    is_turn = isinstance(entry, dict) and ("parts" in entry or "role" in entry)
    own = entry if is_turn else {"role": message["role"]}
    return {**own, "parts": new_parts}


def _with_text(parts: list[Any], texts: list[str]) -> list[Any]:
    """Put texts where the first text part was; remove the others, keep all other parts.

    The first new text gets what the first text part has beside its text, like a signature.
    """
    first = 0
    own: dict[str, Any] = {}
    text_indexes = [index for index, part in enumerate(parts) if _is_text(part)]
    if text_indexes:
        first = text_indexes[0]
    for index in text_indexes:
        if not parts[index].get("thought"):
            own = parts[index]
            break
    head = [part for part in parts[:first] if not _is_text(part)]
    tail = [part for part in parts[first:] if not _is_text(part)]
    new: list[Any] = [{"text": text} for text in texts]
    if new:
        new[0] = {**own, **new[0]}
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


def _add_instructions(changed: dict[str, Any], instructions: list[str]) -> None:
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


def _candidates(api: Mapping[str, Any]) -> list[dict[str, Any]]:
    candidates = api.get("candidates")
    if not isinstance(candidates, list):
        return []
    return [candidate for candidate in candidates if isinstance(candidate, dict)]


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

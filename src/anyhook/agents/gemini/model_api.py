"""The stable model API to and from the Gemini API, without loss.

Requests have the form of the SDK (`model`, `contents`, `config`) or of the REST API
(`generationConfig`, `toolConfig` and `systemInstruction` at the top). An override is merged with
the request that it was made for: what the stable form does not show (function calls, images, tools,
safety settings) stays where it was, and a request without changes stays equal. The thoughts next to
a text that is replaced are removed, because they may repeat what a hook has removed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyhook.agents.gemini.model_turns import (
    change_texts,
    is_text,
    list_or_empty,
    message_of,
    object_or_empty,
    realign,
    turns_of,
)
from anyhook.model.llm import COUNTS, flat_tool_config

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyhook.model.llm import LLMRequest, LLMResponse, ToolConfig

CALLS = "functionCalls"
"""Member of a stable candidate that shows the model's function calls."""
SAMPLING = ("temperature", "maxOutputTokens", "topP", "topK")
RATING = ("category", "probability", "blocked")
REST_MEMBERS = (
    "generationConfig",
    "toolConfig",
    "systemInstruction",
    "safetySettings",
    "tools",
)
"""Members that are at the top of a request in the form of the REST API only."""


def request_from_api(api: Mapping[str, Any]) -> LLMRequest:
    """Return an API request in the stable form.

    A turn of plain text becomes a string; a turn with other parts becomes a list in which every
    part keeps its members and gets a `type`.
    """
    config = _config(api)
    request: dict[str, Any] = {
        "model": api.get("model") or "",
        "messages": [message_of(entry) for entry in turns_of(api)],
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

    Turns that hooks did not change are the original ones. Parts that are not text are kept, also
    those of turns that hooks removed. New messages of role `system` are added to the system
    instruction. The original is not modified.
    """
    before = request_from_api(api)
    changed = dict(api)
    model = request.get("model")
    if model and model != before["model"]:
        changed["model"] = model
    messages = request.get("messages", before["messages"])
    if messages != before["messages"]:
        conversation = realign(turns_of(api), list(before["messages"]), list(messages))
        changed["contents"] = conversation.contents
        if conversation.instructions:
            current = _tool_holder(changed).get("systemInstruction")
            _set_beside_tools(
                changed,
                "systemInstruction",
                _extend_instruction(current, conversation.instructions),
            )
    old = dict(before.get("config") or {})
    new = dict(request.get("config") or {})
    different = {key: value for key, value in new.items() if old.get(key) != value}
    if different:
        changed[_config_key(changed)] = {**_config(changed), **different}
    tool_config = request.get("toolConfig")
    if tool_config is not None and flat_tool_config(tool_config) != before.get("toolConfig"):
        holder = object_or_empty(_tool_holder(changed).get("toolConfig"))
        _set_beside_tools(changed, "toolConfig", {**holder, **tool_config_to_api(tool_config)})
    return changed


def response_from_api(api: Mapping[str, Any]) -> LLMResponse:
    """Return an API response in the stable form; parts are the texts of text parts.

    The function calls of a candidate are in `functionCalls`, so that hooks see them; the reference
    has no place for them. Changes of `functionCalls` have no effect. The `text` has no thoughts.
    """
    candidates = _candidates(api)
    response: dict[str, Any] = {"candidates": [_candidate(item) for item in candidates]}
    text_parts = _text_parts(candidates[0]) if candidates else []
    if text_parts:
        answer = [part["text"] for part in text_parts if not part.get("thought")]
        response["text"] = "".join(answer)
    usage = api.get("usageMetadata")
    if isinstance(usage, dict):
        response["usageMetadata"] = {key: usage[key] for key in COUNTS if key in usage}
    return response  # type: ignore[return-value]


def response_to_api(api: Mapping[str, Any] | None, response: LLMResponse) -> dict[str, Any]:
    """Merge a stable response with the API response that it was made from.

    Function calls and other parts that are not text stay where they were. The original, which is
    not modified, is `None` for a synthetic response.
    """
    before = response_from_api(api or {})
    changed = dict(api or {})
    candidates = response.get("candidates")
    if candidates != before["candidates"]:
        originals = _candidates(changed)
        unchanged: list[Any] = list(before["candidates"])
        new_candidates: list[Any] = list(candidates or [])
        changed["candidates"] = []
        for index, candidate in enumerate(new_candidates):
            original, old = ({}, {})
            if index < len(originals):
                original, old = originals[index], unchanged[index]
            changed["candidates"].append(_change_candidate(original, old, candidate))
    usage = response.get("usageMetadata")
    if usage is not None and usage != before.get("usageMetadata"):
        counts = object_or_empty(changed.get("usageMetadata"))
        changed["usageMetadata"] = {**counts, **usage}
    return changed


def tool_config_to_api(config: ToolConfig) -> dict[str, Any]:
    """Write a tool configuration as the API takes it."""
    return {"functionCallingConfig": flat_tool_config(config)}


# -- configuration of a request


def _is_rest(api: Mapping[str, Any]) -> bool:
    return "config" not in api and any(key in api for key in REST_MEMBERS)


def _config_key(api: Mapping[str, Any]) -> str:
    return "generationConfig" if _is_rest(api) else "config"


def _config(api: Mapping[str, Any]) -> dict[str, Any]:
    return object_or_empty(api.get(_config_key(api)))


def _tool_holder(api: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the object that holds `toolConfig` and `systemInstruction`."""
    return api if _is_rest(api) else _config(api)


def _set_beside_tools(changed: dict[str, Any], key: str, value: Any) -> None:
    """Set a member that is in `config` in the SDK's form and at the top in the REST form."""
    if _is_rest(changed):
        changed[key] = value
    else:
        changed["config"] = {**_config(changed), key: value}


def _extend_instruction(current: Any, texts: list[str]) -> Any:
    """Return a system instruction, in any of the forms that the API takes, with texts below it."""
    if isinstance(current, str):
        return "\n\n".join([current, *texts])
    added = [{"text": text} for text in texts]
    if isinstance(current, list):
        return [*current, *added]
    if not isinstance(current, dict):
        return {"parts": added}
    if "parts" not in current:
        return {"parts": [current, *added]}  # a bare part
    return {**current, "parts": [*(current["parts"] or []), *added]}


# -- responses


def _candidates(api: Mapping[str, Any]) -> list[dict[str, Any]]:
    candidates = list_or_empty(api.get("candidates"))
    return [candidate for candidate in candidates if isinstance(candidate, dict)]


def _parts(candidate: Mapping[str, Any]) -> list[Any]:
    content = object_or_empty(candidate.get("content"))
    return list_or_empty(content.get("parts"))


def _text_parts(candidate: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [part for part in _parts(candidate) if is_text(part)]


def _texts(candidate: Mapping[str, Any]) -> list[str]:
    return [part["text"] for part in _text_parts(candidate)]


def _candidate(candidate: Mapping[str, Any]) -> dict[str, Any]:
    stable: dict[str, Any] = {"content": {"role": "model", "parts": _texts(candidate)}}
    for key in ("finishReason", "index"):
        if candidate.get(key) is not None:
            stable[key] = candidate[key]
    calls = [object_or_empty(part).get("functionCall") for part in _parts(candidate)]
    calls = [call for call in calls if isinstance(call, dict)]
    if calls:
        stable[CALLS] = calls
    ratings = candidate.get("safetyRatings")
    if isinstance(ratings, list):
        stable["safetyRatings"] = []
        for rating in ratings:
            if isinstance(rating, dict):
                members = {key: rating[key] for key in RATING if key in rating}
                stable["safetyRatings"].append(members)
    return stable


def _change_candidate(
    original: dict[str, Any], before: dict[str, Any], after: dict[str, Any]
) -> dict[str, Any]:
    changed = dict(original)
    texts = (after.get("content") or {}).get("parts")
    if texts is not None and texts != _texts(original):
        content = object_or_empty(original.get("content"))
        parts = change_texts(_parts(original), texts)
        changed["content"] = {"role": "model", **content, "parts": parts}
    for key, value in after.items():
        if key in ("content", CALLS):
            continue
        if value != before.get(key):
            changed[key] = value
    return changed

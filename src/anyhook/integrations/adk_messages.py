"""Requests and responses of Google ADK to and from the stable model API, without loss.

ADK speaks the Gemini API: its objects go through their JSON form. What hooks leave alone comes back
as the very object that it was, so bytes, signatures and function calls are never copied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.adk.models.llm_response import LlmResponse
from google.genai import types

from anyhook.agents.gemini.model_api import (
    request_from_api,
    request_to_api,
    response_from_api,
    response_to_api,
)
from anyhook.model.json import dump_json

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from google.adk.events.event import Event
    from google.adk.models.llm_request import LlmRequest
    from google.adk.workflow import BaseNode
    from pydantic import BaseModel

    from anyhook.model.llm import LLMRequest, LLMResponse, ToolConfig

CONFIG = {"temperature", "top_p", "top_k", "max_output_tokens", "tool_config"}
"""Members of a request's configuration that hooks see."""


class ShownRequest:
    """A request as hooks see it, and the way back.

    Args:
        request: ADK's request.

    Attributes:
        stable: It in the stable form.
    """

    def __init__(self, request: LlmRequest) -> None:
        self._request = request
        self._contents = [to_json(content) for content in request.contents]
        self._api: dict[str, Any] = {
            "model": request.model or "",
            "contents": self._contents,
            "config": to_json(request.config, include=CONFIG),
        }
        self.stable: LLMRequest = request_from_api(self._api)

    def change(self, wanted: LLMRequest) -> None:
        """Lay a stable request over ADK's, which is changed in place."""
        if wanted == self.stable:
            return
        made = request_to_api(self._api, wanted)
        self._request.model = made["model"] or None
        if made["contents"] is not self._contents:
            self._request.contents = self._contents_of(made["contents"])
        if made["config"] is not self._api["config"]:
            self._configure(made["config"])

    def _contents_of(self, entries: Iterable[dict[str, Any]]) -> list[types.Content]:
        known = {id(e): c for e, c in zip(self._contents, self._request.contents, strict=True)}
        parts = [
            (shown, part)
            for entry, content in zip(self._contents, self._request.contents, strict=True)
            for shown, part in zip(entry.get("parts", ()), content.parts or (), strict=True)
        ]
        return [known.get(id(entry)) or _content(entry, parts) for entry in entries]

    def _configure(self, config: dict[str, Any]) -> None:
        added = (config.get("systemInstruction") or {}).get("parts", ())
        self._request.append_instructions([part["text"] for part in added])
        before = self._api["config"]
        new = {k: v for k, v in config.items() if before.get(k) != v and k != "systemInstruction"}
        given = types.GenerateContentConfig.model_validate(new)
        for name in given.model_fields_set:
            setattr(self._request.config, name, getattr(given, name))


class ShownResponse:
    """A response as hooks see it, and the way back.

    Args:
        response: ADK's response.

    Attributes:
        stable: It in the stable form.
    """

    def __init__(self, response: LlmResponse) -> None:
        self._response = response
        candidate: dict[str, Any] = {"content": to_json(response.content), "index": 0}
        if response.finish_reason is not None:
            candidate["finishReason"] = response.finish_reason.value
        self._api: dict[str, Any] = {"candidates": [candidate]}
        if response.usage_metadata is not None:
            self._api["usageMetadata"] = to_json(response.usage_metadata)
        self.stable: LLMResponse = response_from_api(self._api)

    def changed(self, wanted: LLMResponse) -> LlmResponse:
        """Return ADK's response with a stable one laid over it."""
        made = response_to_api(self._api, wanted)
        content = self._response.content
        shown = self._api["candidates"][0]["content"].get("parts", ())
        old = list(zip(shown, (content and content.parts) or (), strict=True))
        candidate = (made.get("candidates") or [{"content": {"role": "model"}}])[0]
        update: dict[str, Any] = {"content": _content(candidate.get("content") or {}, old)}
        if candidate.get("finishReason"):
            update["finish_reason"] = types.FinishReason(candidate["finishReason"])
        if made.get("usageMetadata") != self._api.get("usageMetadata"):
            usage = types.GenerateContentResponseUsageMetadata
            update["usage_metadata"] = usage.model_validate_json(dump_json(made["usageMetadata"]))
        return self._response.model_copy(update=update)


def new_response(stable: LLMResponse) -> LlmResponse:
    """Make a response of a hook one of ADK's."""
    made = response_to_api(None, stable)
    return LlmResponse.create(types.GenerateContentResponse.model_validate_json(dump_json(made)))


def choose_tools(request: LlmRequest, choice: ToolConfig) -> None:
    """Leave the model only the chosen functions.

    Declarations are taken out too: only Gemini's models heed a mode. What is not declared to the
    model cannot run either, should it be called all the same.

    Args:
        request: ADK's request, changed in place.
        choice: Names are the agent's own.
    """
    mode, names = choice.get("mode", "AUTO"), choice.get("allowedFunctionNames") or []
    if mode == "NONE" or names:
        kept = [] if mode == "NONE" else names
        request.config.tools = [
            tool for given in request.config.tools or () if (tool := _only(given, kept)) is not None
        ]
        request.tools_dict = {k: v for k, v in request.tools_dict.items() if k in kept}
    calling: dict[str, Any] = {"mode": mode}
    if mode == "ANY" and names:
        calling["allowed_function_names"] = names  # the API refuses names beside other modes
    current = request.config.tool_config or types.ToolConfig()
    request.config.tool_config = current.model_copy(
        update={"function_calling_config": types.FunctionCallingConfig(**calling)}
    )


def _only(tool: Any, names: Collection[str]) -> Any:
    declared = getattr(tool, "function_declarations", None)
    if not isinstance(tool, types.Tool) or not declared:
        return tool
    kept = [declaration for declaration in declared if declaration.name in names]
    left = tool.model_copy(update={"function_declarations": kept or None})
    return left if to_json(left) else None


def text_of(content: types.Content | None) -> str:
    """Return the text of a content; thoughts are left out."""
    parts = (content.parts if content is not None else None) or ()
    return "".join(part.text for part in parts if part.text and not part.thought)


def with_parts(content: types.Content | None, *parts: types.Part) -> types.Content:
    """Return a content with parts behind its own, which stay the objects that they are."""
    if content is None:
        return types.Content(role="model", parts=list(parts))
    return content.model_copy(update={"parts": [*(content.parts or ()), *parts]})


def without_calls(content: types.Content, ids: Collection[str]) -> types.Content:
    """Return a content without the function calls that have some identifiers."""
    kept = [
        part
        for part in content.parts or ()
        if part.function_call is None or part.function_call.id not in ids
    ]
    return content.model_copy(update={"parts": kept})


def to_json(value: BaseModel | None, **options: Any) -> dict[str, Any]:
    """Write an object of the Gemini API as its JSON."""
    if value is None:
        return {}
    return value.model_dump(
        mode="json", by_alias=True, exclude_none=True, fallback=str, warnings=False, **options
    )


def failed(code: str, reason: str) -> LlmResponse:
    """Make a response that ends a run with an error."""
    return LlmResponse(error_code=code, error_message=reason)


def is_last(response: LlmResponse, agent: BaseNode | None) -> bool:
    """Tell whether an agent is done after a response: it calls nothing, and no code is run."""
    if response.get_function_calls():
        return False
    parts = (response.content.parts if response.content else None) or [types.Part()]
    if parts[-1].code_execution_result is not None:
        return False
    executor = getattr(agent, "code_executor", None)
    text = text_of(response.content)
    return executor is None or not any(s in text for s, _ in executor.code_block_delimiters)


def last_words(event: Event) -> str | None:
    """Return the text of an event that may be a turn's last; `None` if more is to come."""
    waits = event.get_function_calls() or event.actions.requested_tool_confirmations
    if waits or event.error_code is not None or not event.is_final_response():
        return None
    return text_of(event.content)


def plain(result: Any) -> Any:
    """Return what a tool returned without the wrapping that ADK has for bare values."""
    return result["result"] if isinstance(result, dict) and result.keys() == {"result"} else result


def error_in(result: Any) -> str | None:
    """Return the error in a result, as ADK's own tools and those of MCP tell of it."""
    if not isinstance(result, dict):
        return None
    if result.keys() == {"error"}:
        return str(result["error"])
    return str(result.get("content")) if result.get("isError") is True else None


def with_context(result: Any, context: Collection[str]) -> dict[str, Any]:
    """Return a result with the texts of hooks beside it."""
    made = result if isinstance(result, dict) else {"result": result}
    return {**made, "hook_context": "\n\n".join(context)} if context else made


def _content(
    entry: dict[str, Any], known: Sequence[tuple[dict[str, Any], types.Part]]
) -> types.Content:
    """Make a content of its JSON; parts that were there before stay the objects that they were."""
    left = list(known)
    parts = []
    for shown in entry.get("parts") or ():
        found = next((i for i, (before, _) in enumerate(left) if before == shown), None)
        parts.append(left.pop(found)[1] if found is not None else _part(shown))
    return types.Content(role=entry.get("role"), parts=parts)


def _part(shown: dict[str, Any]) -> types.Part:
    return types.Part.model_validate_json(dump_json(shown))  # bytes are base64 in JSON only

"""Requests and responses of Google ADK to and from the stable model API, without loss.

ADK uses the Gemini API: its objects are translated in their JSON form. What hooks leave alone comes
back as the very same object, so bytes, signatures and function calls are never copied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.adk.models.llm_response import LlmResponse
from google.genai import types

from anyhook.integrations.model_api import (
    OriginalParts,
    ShownRequest,
    ShownResponse,
    is_tool_allowed,
)
from anyhook.model.json import dump_json

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from google.adk.events.event import Event
    from google.adk.models.llm_request import LlmRequest
    from google.adk.workflow import BaseNode
    from pydantic import BaseModel

    from anyhook.integrations.model_api import RequestChanges, ResponseChanges
    from anyhook.model.llm import LLMResponse, ToolConfig

SHOWN_CONFIG = {"temperature", "top_p", "top_k", "max_output_tokens", "tool_config"}
"""Members of a request's configuration that hooks see."""


class _Translator:
    """Shows contents as turns; see `MessageTranslator`."""

    def role(self, content: types.Content) -> str:
        return content.role or "user"

    def parts(self, content: types.Content) -> list[dict[str, Any]]:
        parts: list[dict[str, Any]] = to_json(content).get("parts", [])
        return parts

    def rebuild(self, content: types.Content | None, role: str, parts: list[Any]) -> list[Any]:
        return [_rebuild_content(content, role, parts)]


def shown_request(request: LlmRequest) -> ShownRequest:
    """Return a request as hooks see it."""
    config = to_json(request.config, include=SHOWN_CONFIG)
    return ShownRequest(_Translator(), request.contents, request.model or "", config)


def change_llm_request(request: LlmRequest, changes: RequestChanges) -> None:
    """Apply the changes of hooks to a request, in place."""
    if changes.model is not None:
        request.model = changes.model
    if changes.messages is not None:
        request.contents = changes.messages
    if changes.instructions:
        request.append_instructions(changes.instructions)
    # Validation turns the names and values of JSON into those of ADK's objects.
    new_config = types.GenerateContentConfig.model_validate(changes.config)
    for name in new_config.model_fields_set:
        setattr(request.config, name, getattr(new_config, name))


def shown_response(response: LlmResponse) -> ShownResponse:
    """Return a response as hooks see it."""
    reason = response.finish_reason
    return ShownResponse(
        to_json(response.content).get("parts", []),
        None if reason is None else reason.value,
        to_json(response.usage_metadata),
    )


def changed_response(response: LlmResponse, changes: ResponseChanges) -> LlmResponse:
    """Return a response with the changes of hooks."""
    content = _rebuild_content(response.content, "model", changes.parts)
    update: dict[str, Any] = {"content": content}
    if changes.finish_reason is not None:
        update["finish_reason"] = types.FinishReason(changes.finish_reason)
    if changes.usage is not None:
        usage = types.GenerateContentResponseUsageMetadata
        update["usage_metadata"] = usage.model_validate_json(dump_json(changes.usage))
    return response.model_copy(update=update)


def new_response(stable: LLMResponse) -> LlmResponse:
    """Return ADK's response for one that a hook wrote."""
    return changed_response(LlmResponse(), ShownResponse([]).changes(stable))


def error_response(code: str, reason: str) -> LlmResponse:
    """Return a response that ends a run with an error."""
    return LlmResponse(error_code=code, error_message=reason)


def _parts_of(content: types.Content | None) -> list[types.Part]:
    if content is None or content.parts is None:
        return []
    return content.parts


def _rebuild_content(
    content: types.Content | None, role: str, new_parts: Sequence[Any]
) -> types.Content:
    """Return a content with the parts that hooks left; those they did not change are the same."""
    originals = OriginalParts(to_json(content).get("parts", ()), _parts_of(content))
    parts: list[types.Part] = []
    for part in new_parts:
        original = originals.take(part)
        # Only the JSON mode of validation decodes bytes from base64.
        parts.append(original or types.Part.model_validate_json(dump_json(part)))
    return types.Content(role=role, parts=parts)


def select_tools(request: LlmRequest, choice: ToolConfig) -> None:
    """Leave the model only the chosen functions, by the names that the agent has for them.

    Declarations are removed, too: only Gemini's models respect a mode. A function that is not
    declared to the model cannot run either, should the model call it all the same.
    """
    mode = choice.get("mode", "AUTO")
    names = choice.get("allowedFunctionNames") or []
    if mode == "NONE" or names:
        tools: list[Any] = []
        for tool in request.config.tools or ():
            declarations = getattr(tool, "function_declarations", None)
            if not isinstance(tool, types.Tool) or not declarations:
                tools.append(tool)
                continue
            chosen = [item for item in declarations if is_tool_allowed(choice, str(item.name))]
            # A tool may also hold what is not a function, like Google Search.
            selected = tool.model_copy(update={"function_declarations": chosen or None})
            if to_json(selected):
                tools.append(selected)
        request.config.tools = tools
        request.tools_dict = {
            name: tool for name, tool in request.tools_dict.items() if is_tool_allowed(choice, name)
        }
    calling: dict[str, Any] = {"mode": mode}
    if mode == "ANY" and names:
        # The API refuses names with other modes.
        calling["allowed_function_names"] = names
    config = request.config.tool_config or types.ToolConfig()
    request.config.tool_config = config.model_copy(
        update={"function_calling_config": types.FunctionCallingConfig(**calling)}
    )


def content_text(content: types.Content | None) -> str:
    """Return the text of a content, without thoughts."""
    texts = [part.text for part in _parts_of(content) if part.text and not part.thought]
    return "".join(texts)


def with_parts(content: types.Content | None, *parts: types.Part) -> types.Content:
    """Return a content with parts appended; its own parts stay the same objects."""
    if content is None:
        return types.Content(role="model", parts=list(parts))
    return content.model_copy(update={"parts": [*(content.parts or ()), *parts]})


def without_calls(content: types.Content, ids: Collection[str]) -> types.Content:
    """Return a content without the function calls that have some identifiers."""
    parts: list[types.Part] = []
    for part in _parts_of(content):
        is_removed = part.function_call is not None and part.function_call.id in ids
        if not is_removed:
            parts.append(part)
    return content.model_copy(update={"parts": parts})


def to_json(value: BaseModel | None, **options: Any) -> dict[str, Any]:
    """Return an object of the Gemini API as JSON."""
    if value is None:
        return {}
    return value.model_dump(
        mode="json", by_alias=True, exclude_none=True, fallback=str, warnings=False, **options
    )


def is_final(response: LlmResponse, agent: BaseNode | None) -> bool:
    """Return whether an agent is done after a response: no function and no code is run."""
    if response.get_function_calls():
        return False
    parts = _parts_of(response.content)
    if parts and parts[-1].code_execution_result is not None:
        return False
    executor = getattr(agent, "code_executor", None)
    if executor is None:
        return True
    text = content_text(response.content)
    return not any(start in text for start, _end in executor.code_block_delimiters)


def final_text(event: Event) -> str | None:
    """Return the text of an event that may be a turn's last; `None` if more is to come."""
    is_pending = event.get_function_calls() or event.actions.requested_tool_confirmations
    if is_pending or event.error_code is not None or not event.is_final_response():
        return None
    return content_text(event.content)


def argument_names(request: LlmRequest, name: str) -> list[str]:
    """Return the names of the arguments of a tool, as a request declares them."""
    for tool in request.config.tools or ():
        for declaration in getattr(tool, "function_declarations", None) or ():
            if declaration.name == name:
                schema = declaration.parameters_json_schema
                if isinstance(schema, dict):
                    return list(schema.get("properties") or ())
                parameters = declaration.parameters
                return list((parameters and parameters.properties) or ())
    return []

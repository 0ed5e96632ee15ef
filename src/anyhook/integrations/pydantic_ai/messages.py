"""The stable model API to and from Pydantic AI's messages, without loss.

Messages become turns of the Gemini API, whose translator finds what a hook changed. Every part
remembers what it was made from, so that what no hook changed is the framework's own object
afterwards. A thought in the history is not text of its turn: it stays where it was. In a response
hooks see thoughts, and text that is replaced removes the thoughts next to it, for they may repeat
what a hook removed; of a signed thought the signature stays, because the provider needs it.
"""

from __future__ import annotations

import base64
import logging
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from pydantic_ai import messages as m
from pydantic_core import to_jsonable_python

from anyhook.integrations.model_api import (
    OriginalParts,
    ShownRequest,
    ShownResponse,
    is_tool_allowed,
    sampling_config,
    usage_metadata,
)
from anyhook.model.json import repair

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.settings import ModelSettings

    from anyhook.integrations.model_api import ResponseChanges
    from anyhook.model.llm import LLMRequest, LLMResponse, ToolConfig

log = logging.getLogger("anyhook.integrations")

TO_FINISH_REASON = {
    "stop": "STOP",
    "tool_call": "STOP",
    "length": "MAX_TOKENS",
    "content_filter": "SAFETY",
    "error": "OTHER",
}
FROM_FINISH_REASON: dict[str, m.FinishReason] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "OTHER": "error",
}


def to_json(value: object) -> Any:
    """Return a value of a program as JSON; what has no JSON form becomes its text."""
    return to_jsonable_python(value, bytes_mode="base64", fallback=str)


@dataclass(frozen=True)
class Request:
    """The arguments of `Model.request`."""

    messages: list[m.ModelMessage]
    settings: ModelSettings | None
    parameters: ModelRequestParameters
    model: str

    @cached_property
    def shown(self) -> ShownRequest:
        """The request as hooks see it."""
        settings = cast("Mapping[str, Any]", self.settings or {})
        turns: list[_Turn] = []
        for message in self.messages:
            is_first = True
            for part in message.parts:
                role = "system" if isinstance(part, m.SystemPromptPart) else "user"
                if isinstance(message, m.ModelResponse):
                    role = "model"
                if is_first or turns[-1].role != role:
                    turns.append(_Turn(message, role, []))
                turns[-1].pieces.extend(_pieces_of(part))
                is_first = False
        return ShownRequest(_Translator(), turns, self.model, sampling_config(settings))

    def changed(self, request: LLMRequest, tools: ToolConfig | None = None) -> Request:
        """Apply the changes of hooks; return this very request if nothing changes.

        Every message and part that no hook changed is still the original object. The tools that the
        model may call are in the framework's names; `None` stands for all.
        """
        settings, parameters = self.settings, self.parameters
        if tools is not None:
            allowed = [t for t in parameters.function_tools if is_tool_allowed(tools, t.name)]
            if tools.get("mode") == "ANY" and allowed:
                settings = _merge_settings(settings, {"tool_choice": "required"})
            parameters = replace(parameters, function_tools=allowed)
        changes = self.shown.changes(request)
        if changes is None and tools is None:
            return self
        if changes is None:
            return replace(self, settings=settings, parameters=parameters)
        messages = self.messages
        if changes.messages is not None:
            messages = _messages_from_turns(changes.messages, messages)
        if changes.instructions:
            added = [m.InstructionPart(text, dynamic=True) for text in changes.instructions]
            instructions = [*(parameters.instruction_parts or []), *added]
            parameters = replace(parameters, instruction_parts=instructions)
        return replace(
            self,
            messages=messages,
            settings=_merge_settings(settings, changes.sampling),
            parameters=parameters,
            model=changes.model or self.model,
        )


def _merge_settings(
    settings: ModelSettings | None, changes: Mapping[str, Any]
) -> ModelSettings | None:
    """Return settings with changes; `None` if none are left, as the framework writes it."""
    merged = {**(settings or {}), **changes}
    return cast("ModelSettings", merged) if merged else None


def shown_response(response: m.ModelResponse) -> ShownResponse:
    """Return a response as hooks see it; texts of thoughts are only among its parts."""
    parts = []
    for index, part in enumerate(response.parts):
        if isinstance(part, m.ThinkingPart):
            api = {"text": part.content, "thought": True}
        else:
            api = _part_to_api(part)
        parts.append({**api, "index": index})
    reason = TO_FINISH_REASON.get(str(response.finish_reason))
    return ShownResponse(parts, reason, usage_metadata(response.usage))


def changed_response(response: m.ModelResponse, changes: ResponseChanges) -> m.ModelResponse:
    """Return a response with the texts of hooks; its usage stays."""
    kept = {part.get("index") for part in changes.parts}
    parts: list[m.ModelResponsePart] = []
    for index, part in enumerate(response.parts):
        if isinstance(part, m.ThinkingPart) and part.signature and index not in kept:
            parts.append(replace(part, content=""))
    parts += [_changed_part(part, response.parts) for part in changes.parts]
    result = replace(response, parts=parts)
    if changes.finish_reason is not None:
        result.finish_reason = FROM_FINISH_REASON.get(changes.finish_reason, "error")
    return result


def new_response(stable: LLMResponse, model_name: str) -> m.ModelResponse:
    """Return a response for one that a hook wrote."""
    empty = m.ModelResponse(parts=[], model_name=model_name)
    return changed_response(empty, ShownResponse([]).changes(stable))


def _changed_part(
    api: dict[str, Any], originals: Sequence[m.ModelResponsePart]
) -> m.ModelResponsePart:
    if "index" not in api:
        return m.TextPart(api["text"])
    original: m.ModelResponsePart = originals[api["index"]]
    if isinstance(original, m.ThinkingPart) and original.content != api["text"]:
        return replace(original, content=api["text"])
    if isinstance(original, m.TextPart) and original.content != api["text"]:
        # Without the part's identifier, under which the provider has the old text.
        return m.TextPart(api["text"])
    return original


@dataclass(frozen=True)
class _Piece:
    """One part of a turn of the Gemini API, and what it was made from."""

    api: dict[str, Any]
    part: Any
    """The framework's part; `None` for a new text of a hook."""
    item: Any = None
    """The item of a prompt, if `part` is a prompt."""


@dataclass(frozen=True)
class _Turn:
    """A run of parts of a message with the same role."""

    message: m.ModelMessage | None
    """The message; `None` for a turn that a hook wrote."""
    role: str
    pieces: list[_Piece]


class _Translator:
    """Shows turns of messages; see `MessageTranslator`."""

    def role(self, turn: _Turn) -> str:
        return turn.role

    def parts(self, turn: _Turn) -> list[dict[str, Any]]:
        return [piece.api for piece in turn.pieces]

    def rebuild(self, turn: _Turn | None, role: str, parts: list[Any]) -> list[_Turn]:
        originals = [] if turn is None else turn.pieces
        message = None if turn is None else turn.message
        remaining = OriginalParts([piece.api for piece in originals], originals)
        pieces: list[_Piece] = []
        for api in parts:
            original = remaining.take(api)
            if original is not None:
                pieces.append(original)
            elif isinstance(api, dict) and isinstance(api.get("text"), str):
                pieces.append(_Piece(api, None, api["text"]))
            else:
                log.warning("a new part of a hook is not text and was left out of the request")
        return [_Turn(message, role, pieces)]


def _pieces_of(part: Any) -> list[_Piece]:
    if not isinstance(part, m.UserPromptPart):
        return [_Piece(_part_to_api(part), part)]
    items = [part.content] if isinstance(part.content, str) else part.content
    return [_Piece(_prompt_item_to_api(item), part, item) for item in items]


def _prompt_item_to_api(item: Any) -> dict[str, Any]:
    if isinstance(item, str):
        return {"text": item}
    if isinstance(item, m.TextContent):
        return {"text": item.content}
    if isinstance(item, m.BinaryContent):
        return _file_to_api(item)
    if isinstance(item, m.FileUrl):
        return {"fileData": {"fileUri": item.url}}
    return {"part": repair(to_json(item))}


def _part_to_api(part: Any) -> dict[str, Any]:
    if isinstance(part, m.SystemPromptPart | m.TextPart):
        return {"text": part.content}
    if isinstance(part, m.BaseToolCallPart):
        arguments = repair(to_json(part.args_as_dict(raise_if_invalid=False)))
        call = {"id": part.tool_call_id, "name": part.tool_name, "args": arguments}
        return {"functionCall": call}
    if isinstance(part, m.BaseToolReturnPart):
        response = {"output": repair(to_json(part.content))}
        result = {"id": part.tool_call_id, "name": part.tool_name, "response": response}
        return {"functionResponse": result}
    if isinstance(part, m.FilePart):
        return _file_to_api(part.content)
    return {"part": repair(to_json(part))}


def _file_to_api(file: m.BinaryContent) -> dict[str, Any]:
    data = base64.b64encode(file.data).decode("ascii")
    return {"inlineData": {"mimeType": file.media_type, "data": data}}


def _messages_from_turns(
    turns: list[_Turn], originals: list[m.ModelMessage]
) -> list[m.ModelMessage]:
    """Return the messages of turns; a message of which nothing changed is the original object."""
    messages: list[m.ModelMessage] = []
    original: m.ModelMessage | None = None
    role = ""
    parts: list[Any] = []
    for turn in turns:
        continues_message = turn.message is not None and turn.message is original
        if parts and not continues_message:
            messages.append(_message_of(original, role, parts))
            parts = []
        if not parts:
            original, role = turn.message, turn.role
        # The framework's parts; those that hooks left alone are the originals.
        if turn.role == "user":
            parts += _user_parts(turn.pieces)
            continue
        text_part = m.TextPart if turn.role == "model" else m.SystemPromptPart
        for piece in turn.pieces:
            parts.append(text_part(piece.api["text"]) if piece.part is None else piece.part)
    if parts:
        messages.append(_message_of(original, role, parts))
    # A message without parts is not shown as a turn, so hooks cannot have removed it.
    return messages + [message for message in originals if not message.parts]


def _message_of(original: m.ModelMessage | None, role: str, parts: list[Any]) -> m.ModelMessage:
    if original is None and role == "model":
        return m.ModelResponse(parts=parts)
    if original is None:
        return m.ModelRequest(parts=parts)
    if _are_same_objects(parts, original.parts):
        return original
    message: m.ModelMessage = replace(cast("Any", original), parts=parts)
    return message


def _are_same_objects(values: Sequence[object], others: Sequence[object]) -> bool:
    return list(map(id, values)) == list(map(id, others))


def _user_parts(pieces: list[_Piece]) -> list[Any]:
    """Join the items of each prompt again, with the new texts among them."""
    parts: list[Any] = []
    prompt: list[_Piece] = []
    for piece in pieces:
        is_new_text = piece.part is None
        is_prompt = is_new_text or isinstance(piece.part, m.UserPromptPart)
        # A new text continues a prompt, and so does an item of the same one.
        owners = [other.part for other in prompt if other.part is not None]
        continues = is_new_text or all(owner is piece.part for owner in owners)
        if prompt and not (is_prompt and continues):
            parts.append(_prompt_part(prompt))
            prompt = []
        if is_prompt:
            prompt.append(piece)
        else:
            parts.append(piece.part)
    if prompt:
        parts.append(_prompt_part(prompt))
    return parts


def _prompt_part(pieces: list[_Piece]) -> m.UserPromptPart:
    items = [piece.item for piece in pieces]
    content: Any = items
    if len(items) == 1 and isinstance(items[0], str):
        (content,) = items
    owners = [piece.part for piece in pieces if piece.part is not None]
    if not owners:
        return m.UserPromptPart(content)
    owner: m.UserPromptPart = owners[0]
    if _are_same_objects(items, [piece.item for piece in _pieces_of(owner)]):
        return owner
    return replace(owner, content=content)

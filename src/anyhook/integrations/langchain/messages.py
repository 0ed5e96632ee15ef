"""LangChain's messages, requests and responses to and from the stable model API, without loss.

A message is represented in parts as the Gemini API has them: text and thoughts, calls and results
of tools, and every other block as it is. `anyhook.agents.gemini.model_api` finds what hooks
changed; what they left alone comes back as the same object.

It is one module because requests and responses share the translation of parts, and each step back
undoes the step next to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from anyhook.integrations.host_tools import result_text
from anyhook.integrations.model_api import (
    SAMPLING,
    TOKEN_COUNTS,
    ShownRequest,
    ShownResponse,
    is_tool_allowed,
    sampling_config,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from langchain.agents.middleware.types import ModelRequest
    from langchain_core.language_models import BaseChatModel

    from anyhook.integrations.model_api import RequestChanges, ResponseChanges
    from anyhook.model.llm import LLMResponse, ToolConfig

MessageT = TypeVar("MessageT", bound=BaseMessage)

NOTICE_KEY = "anyhook"
NOTICE = "notice"
"""Value of `additional_kwargs["anyhook"]` of a message for the user that the model never gets."""
MESSAGE_TYPES: dict[str, type[BaseMessage]] = {"model": AIMessage, "system": SystemMessage}
"""Roles of the stable form to types of messages; others are the user's."""
MODEL_NAME_FIELDS = ("model_name", "model", "model_id")
"""Fields of chat models that may hold the name of the model; the first that does is used."""
FINISH_REASONS = {
    "stop": "STOP",
    "end_turn": "STOP",
    "stop_sequence": "STOP",
    "tool_calls": "STOP",
    "tool_use": "STOP",
    "length": "MAX_TOKENS",
    "max_tokens": "MAX_TOKENS",
    "content_filter": "SAFETY",
    "refusal": "SAFETY",
}
"""Why a response ended in the words of the providers, to the stable form."""
THOUGHT_TYPES = ("reasoning", "thinking")
"""Types of blocks with thoughts; their text is a member of the same name."""
TEXT_BOUND_MEMBERS = ("signature", "annotations", "citations")
"""Members of a block that refer to its exact words; they are removed when the words change."""
REPEATING_MEMBERS = ("reasoning_content", "reasoning", "parsed")
"""Members next to a message's content that may repeat what a hook removed from it."""


def notice(text: str) -> AIMessage:
    """Return a message for the user in the agent's place; the model never gets it."""
    return AIMessage(content=text, additional_kwargs={NOTICE_KEY: NOTICE})


def is_notice(message: BaseMessage) -> bool:
    """Return whether a message is for the user only."""
    return message.additional_kwargs.get(NOTICE_KEY) == NOTICE


def unanswered_prompt(messages: Sequence[BaseMessage]) -> list[HumanMessage]:
    """Return the messages of the user at the end of a conversation."""
    prompt: list[HumanMessage] = []
    for message in reversed(messages):
        if not isinstance(message, HumanMessage):
            break
        prompt.insert(0, message)
    return prompt


def turn_before_notice(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return the messages of the last turn, from the user's prompt to the notice that ends it."""
    before = list(messages)
    while before and is_notice(before[-1]):
        before.pop()
    start = len(before)
    while start and not isinstance(before[start - 1], HumanMessage):
        start -= 1
    prompt = unanswered_prompt(before[:start])
    return before[start - len(prompt) :]


def last_answer(messages: Sequence[BaseMessage]) -> str:
    """Return the text of the agent's last message."""
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            return str(message.text)
    return ""


def append_texts(message: MessageT, texts: Iterable[str]) -> MessageT:
    """Append texts to a message; return the same message if there are none."""
    text = "\n\n".join(texts)
    if not text:
        return message
    content: Any = message.content
    if isinstance(content, list):
        content = [*content, _text_block(text)]
    elif content:
        content = f"{content}\n\n{text}"
    else:
        content = text
    return message.model_copy(update={"content": content})


def _text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _is_text_block(block: Mapping[str, Any]) -> bool:
    return block.get("type") == "text" and isinstance(block.get("text"), str)


def _blocks_of(content: Any) -> list[dict[str, Any]]:
    """Return content as blocks; LangChain also allows a text, and texts between the blocks."""
    if isinstance(content, str):
        return [_text_block(content)] if content else []
    return [_text_block(block) if isinstance(block, str) else block for block in content]


def _text_of_content(content: Any) -> str:
    return "".join(block["text"] for block in _blocks_of(content) if _is_text_block(block))


def _parts_from_message(message: BaseMessage) -> list[dict[str, Any]]:
    blocks = _blocks_of(message.content)
    if isinstance(message, ToolMessage):
        others = [block for block in blocks if not _is_text_block(block)]
        return [_tool_result_part(message), *others]
    # Some providers repeat each call as a block, in its place between texts; others do not. A call
    # without an identifier, which LangChain allows, cannot be found in the blocks.
    calls = _tool_calls(message)
    by_id = {call["id"]: call for call in calls if call["id"]}
    parts = [_part_from_block(block, by_id) for block in blocks]
    not_repeated = [call for call in calls if not call["id"] or call["id"] in by_id]
    return parts + [_call_part(call) for call in not_repeated]


def _part_from_block(block: dict[str, Any], calls: dict[Any, Any]) -> dict[str, Any]:
    """Return the part of a block; a call that the block repeats is taken from `calls`."""
    kind = block.get("type")
    members = _without(block, ("type",))
    if _is_text_block(block):
        return members
    if kind in THOUGHT_TYPES and isinstance(block.get(kind), str):
        return {"text": members.pop(kind), "thought": True, "block": kind, **members}
    call = calls.pop(_call_id(block), None)
    if call is None:
        return block
    return _call_part(call)


def _without(members: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if name not in names}


def _tool_calls(message: BaseMessage) -> list[Any]:
    if not isinstance(message, AIMessage):
        return []
    return list(message.tool_calls)


def _call_id(block: Mapping[str, Any]) -> str | None:
    identifier = block.get("call_id") or block.get("id")
    return identifier if isinstance(identifier, str) else None


def _call_part(call: Mapping[str, Any]) -> dict[str, Any]:
    return {"functionCall": {key: call[key] for key in ("id", "name", "args")}}


def _tool_result_part(message: ToolMessage) -> dict[str, Any]:
    key = "error" if message.status == "error" else "output"
    return {
        "functionResponse": {
            "id": message.tool_call_id,
            "name": message.name or "",
            "response": {key: _text_of_content(message.content)},
        }
    }


def _rebuild_message(message: BaseMessage, parts: Sequence[Any]) -> BaseMessage:
    """Return the message that parts came from, with the changes of hooks to them."""
    if isinstance(message, ToolMessage):
        return _rebuild_tool_message(message, parts)
    arguments: dict[Any, Any] = {}
    for part in parts:
        call = _member(part, "functionCall")
        if call is not None and _call_id(call) and isinstance(call.get("args"), dict):
            arguments.setdefault(_call_id(call), call["args"])
    calls = [
        {**call, "args": arguments.get(call["id"], call["args"])} for call in _tool_calls(message)
    ]
    content = _changed_content(message, parts, calls)
    update: dict[str, Any] = {"content": content}
    if isinstance(message, AIMessage):
        update["tool_calls"] = calls
    if _text_of_content(content) != _text_of_content(message.content):
        update["additional_kwargs"] = _without(message.additional_kwargs, REPEATING_MEMBERS)
    return message.model_copy(update=update)


def _changed_content(
    message: BaseMessage, parts: Sequence[Any], calls: Sequence[Any]
) -> str | list[dict[str, Any]]:
    """Return the content of a message that parts came from: a text where it was one."""
    old_blocks = _blocks_of(message.content)
    call_blocks = {_call_id(block): block for block in old_blocks if _call_id(block)}
    # The provider's own block of a changed call still has the old arguments.
    for call, old_call in zip(calls, _tool_calls(message), strict=True):
        if call != old_call:
            call_blocks.pop(call["id"], None)
    blocks: list[dict[str, Any]] = []
    for part in parts:
        if not isinstance(part, dict):
            continue
        block = _block_from_part(part, old_blocks, call_blocks)
        if block is not None:
            blocks.append(block)
    is_plain = all(block.keys() == {"type", "text"} for block in blocks)
    if isinstance(message.content, str) and is_plain:
        return "".join(block["text"] for block in blocks)
    return blocks


def _member(part: Any, name: str) -> dict[str, Any] | None:
    """Return the object that a part holds under a name; hooks may write parts of any form."""
    member = part.get(name) if isinstance(part, dict) else None
    return member if isinstance(member, dict) else None


def _block_from_part(
    part: dict[str, Any],
    old_blocks: Sequence[dict[str, Any]],
    call_blocks: Mapping[Any, dict[str, Any]],
) -> dict[str, Any] | None:
    """Return the block of a part; `None` for a call that the provider does not repeat as one."""
    call = _member(part, "functionCall")
    if call is not None:
        return call_blocks.get(_call_id(call))
    is_text = isinstance(part.get("text"), str) and "type" not in part
    if not is_text:
        return part
    if part.get("thought"):
        kind = part.get("block") or THOUGHT_TYPES[0]
        members = _without(part, ("text", "thought", "block"))
        block = {"type": kind, kind: part["text"], **members}
    else:
        block = {"type": "text", **part}
    if block in old_blocks:
        return block
    return _without(block, TEXT_BOUND_MEMBERS)


def _rebuild_tool_message(message: ToolMessage, parts: Sequence[Any]) -> ToolMessage:
    """Change a tool's result; texts that hooks add next to it stand before it."""
    response = None
    texts: list[str] = []
    others: list[Any] = []
    for part in parts:
        result = _member(part, "functionResponse")
        if result is not None:
            # A message holds one result: of several that hooks write the first one counts.
            if response is None:
                response = result.get("response")
        elif isinstance(part, dict) and "type" not in part and "text" in part:
            texts.append(str(part["text"]))
        else:
            others.append(part)
    output: Any = response
    old_response = _tool_result_part(message)["functionResponse"]["response"]
    if isinstance(response, dict) and response.keys() == old_response.keys():
        (output,) = response.values()
    # Where hooks removed the result, that of the message stays.
    texts.append(_text_of_content(message.content) if output is None else result_text(output))
    content: Any = "\n\n".join(texts)
    if others:
        content = [_text_block(content), *others]
    return message.model_copy(update={"content": content})


class _Translator:
    """Shows messages as turns; see `MessageTranslator`."""

    def role(self, message: BaseMessage) -> str:
        return next((r for r, kind in MESSAGE_TYPES.items() if isinstance(message, kind)), "user")

    def parts(self, message: BaseMessage) -> list[dict[str, Any]]:
        return _parts_from_message(message)

    def rebuild(self, message: BaseMessage | None, role: str, parts: list[Any]) -> list[Any]:
        if message is None:
            message = MESSAGE_TYPES.get(role, HumanMessage)(content="")
        return [_rebuild_message(message, parts)]


def shown_request(request: ModelRequest[Any]) -> ShownRequest:
    """Return a request as hooks see it, without the agent's own instructions."""
    settings: dict[str, Any] = {}
    for name in SAMPLING.values():
        value = getattr(request.model, name, None)
        if isinstance(value, int | float):
            settings[name] = value
    settings |= request.model_settings
    names = [getattr(request.model, field, None) for field in MODEL_NAME_FIELDS]
    model = next((name for name in names if isinstance(name, str) and name), "")
    return ShownRequest(_Translator(), request.messages, model, sampling_config(settings))


def changed_request(request: ModelRequest[Any], changes: RequestChanges) -> ModelRequest[Any]:
    """Return a request with the changes of hooks.

    Another model is not applied here: see `with_model_name`.
    """
    overrides: dict[str, Any] = {}
    if changes.messages is not None:
        overrides["messages"] = changes.messages
    if changes.instructions:
        system = request.system_message or SystemMessage(content="")
        overrides["system_message"] = append_texts(system, changes.instructions)
    if changes.sampling:
        overrides["model_settings"] = {**request.model_settings, **changes.sampling}
    return request.override(**overrides) if overrides else request


def with_model_name(model: BaseChatModel, name: str) -> BaseChatModel | None:
    """Return the same client for another model; `None` if the client has no such setting."""
    for field in MODEL_NAME_FIELDS:
        value = getattr(model, field, None)
        if field in type(model).model_fields and isinstance(value, str) and value:
            return model.model_copy(update={field: name})
    return None


def select_tools(request: ModelRequest[Any], config: ToolConfig | None) -> ModelRequest[Any]:
    """Leave the model the tools that hooks allow; return the same request if these are all."""
    if config is None:
        return request
    tools = [tool for tool in request.tools if is_tool_allowed(config, tool_name(tool))]
    if tools and config.get("mode") == "ANY":
        return request.override(tools=tools, tool_choice="any")
    if len(tools) == len(request.tools):
        return request
    return request.override(tools=tools)


def tool_name(tool: Any) -> str:
    """Return the name of a tool, also of one that runs at the provider."""
    if not isinstance(tool, dict):
        return str(tool.name)
    # OpenAI's chat format has the name in `function`; others have it next to the type.
    function = tool.get("function")
    members = function if isinstance(function, dict) else tool
    return str(members.get("name") or tool.get("type") or "")


def shown_response(message: AIMessage) -> ShownResponse:
    """Return a response as hooks see it."""
    metadata = message.response_metadata
    reason = str(metadata.get("finish_reason") or metadata.get("stop_reason")).lower()
    usage: Mapping[str, Any] = message.usage_metadata or {}
    counts = {key: usage[name] for key, name in TOKEN_COUNTS.items() if name in usage}
    return ShownResponse(_parts_from_message(message), FINISH_REASONS.get(reason), counts)


def changed_response(message: AIMessage, changes: ResponseChanges) -> AIMessage:
    """Return a response with the texts of hooks; its tool calls and other blocks stay."""
    return cast("AIMessage", _rebuild_message(message, changes.parts))


def new_response(response: LLMResponse) -> AIMessage:
    """Return a message for a response that a hook wrote."""
    return changed_response(AIMessage(content=""), ShownResponse([]).changes(response))

"""LangChain's messages, requests and responses to and from the form that hooks see, without loss.

A message is laid out in parts as the Gemini API would have them: text and thoughts, calls and
results of tools, and every other block as it is. `anyhook.agents.gemini.model_api` finds what hooks
changed; what they left alone comes back as the same object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from anyhook.agents.gemini.model_api import (
    request_from_api,
    request_to_api,
    response_from_api,
    response_to_api,
)
from anyhook.integrations.host_tools import text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from langchain.agents.middleware.types import ModelRequest
    from langchain_core.language_models import BaseChatModel

    from anyhook.model.llm import LLMRequest, LLMResponse, ToolConfig

MessageT = TypeVar("MessageT", bound=BaseMessage)
Api = dict[str, Any]

MARK = "anyhook"
NOTICE = "notice"
"""Value of `additional_kwargs["anyhook"]` of a message for the user that the model never gets."""
NAMES = ("model_name", "model", "model_id")
"""Where chat models keep the name of the model, most telling first."""
SAMPLING = {
    "temperature": "temperature",
    "max_tokens": "maxOutputTokens",
    "top_p": "topP",
    "top_k": "topK",
}
"""LangChain's names of sampling parameters to the stable ones."""
COUNTS = {
    "input_tokens": "promptTokenCount",
    "output_tokens": "candidatesTokenCount",
    "total_tokens": "totalTokenCount",
}
FINISHED = {
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
"""Why a provider says that a response ended, in the stable form."""
THOUGHTS = ("reasoning", "thinking")
"""Types of blocks with thoughts; their text is under the same name."""
BOUND = ("signature", "annotations", "citations")
"""Members of a block that are about its very words, so that new words must not carry them."""
REPEATING = ("reasoning_content", "reasoning", "parsed")
"""Members beside a message's content that may say again what a hook took out of it."""


# -- messages


def notice(text: str) -> AIMessage:
    """Say something to the user in the agent's place; the model never gets it."""
    return AIMessage(content=text, additional_kwargs={MARK: NOTICE})


def is_notice(message: BaseMessage) -> bool:
    """Tell whether a message is for the user only."""
    return message.additional_kwargs.get(MARK) == NOTICE


def prompt_of(messages: Sequence[BaseMessage]) -> list[HumanMessage]:
    """Return the messages of the user that nobody has answered."""
    found: list[HumanMessage] = []
    for message in reversed(messages):
        if not isinstance(message, HumanMessage):
            break
        found.insert(0, message)
    return found


def answer_of(messages: Sequence[BaseMessage]) -> str:
    """Return the text of the agent's last message."""
    last = next((m for m in reversed(messages) if isinstance(m, AIMessage)), None)
    return str(last.text) if last is not None else ""


def added(message: MessageT, texts: Iterable[str]) -> MessageT:
    """Put texts behind what a message holds; the same message if there are none."""
    more = "\n\n".join(texts)
    if not more:
        return message
    content = message.content
    whole: Any = [*content, _text_block(more)] if isinstance(content, list) else more
    if isinstance(content, str) and content:
        whole = f"{content}\n\n{more}"
    return message.model_copy(update={"content": whole})


def _blocks(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [_text_block(content)] if content else []
    return [_text_block(block) if isinstance(block, str) else block for block in content]


def _text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _is_text_block(block: Mapping[str, Any]) -> bool:
    return block.get("type") == "text" and isinstance(block.get("text"), str)


def _text(content: Any) -> str:
    return "".join(block["text"] for block in _blocks(content) if _is_text_block(block))


# -- parts


def _parts(message: BaseMessage) -> list[dict[str, Any]]:
    blocks = _blocks(message.content)
    if isinstance(message, ToolMessage):
        return [_result(message), *(block for block in blocks if not _is_text_block(block))]
    calls = {call["id"]: call for call in _calls(message)}
    parts = [_part(block, calls) for block in blocks]
    placed = {part["functionCall"]["id"] for part in parts if "functionCall" in part}
    return [*parts, *(_call(call) for id_, call in calls.items() if id_ not in placed)]


def _calls(message: BaseMessage) -> list[Any]:
    return list(message.tool_calls) if isinstance(message, AIMessage) else []


def _part(block: dict[str, Any], calls: Mapping[Any, Any]) -> dict[str, Any]:
    kind = block.get("type")
    rest = {key: value for key, value in block.items() if key != "type"}
    if _is_text_block(block):
        return rest
    if kind in THOUGHTS and isinstance(block.get(kind), str):
        return {"text": rest.pop(kind), "thought": True, "block": kind, **rest}
    call = calls.get(_call_id(block))
    return _call(call) if call is not None else block


def _call_id(block: Mapping[str, Any]) -> Any:
    return block.get("call_id") or block.get("id")


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    return {"functionCall": {key: call[key] for key in ("id", "name", "args")}}


def _result(message: ToolMessage) -> dict[str, Any]:
    key = "error" if message.status == "error" else "output"
    return {
        "functionResponse": {
            "id": message.tool_call_id,
            "name": message.name or "",
            "response": {key: _text(message.content)},
        }
    }


def _rebuilt(message: BaseMessage, parts: Sequence[Any]) -> BaseMessage:
    """Put parts, as hooks left them, back into the message that they came from."""
    if isinstance(message, ToolMessage):
        return _rebuilt_result(message, parts)
    old = _blocks(message.content)
    calls = _changed_calls(message, parts)
    same = {_call_id(block): block for block in old}
    for call, before in zip(calls, _calls(message), strict=True):
        if call != before:  # the provider's own block says the old arguments
            same.pop(call["id"], None)
    blocks = [_block(part, old, same) for part in parts if isinstance(part, dict)]
    kept = [block for block in blocks if block is not None]
    content: Any = kept
    if isinstance(message.content, str) and all(block.keys() == {"type", "text"} for block in kept):
        content = "".join(block["text"] for block in kept)
    update: dict[str, Any] = {"content": content}
    if isinstance(message, AIMessage):
        update["tool_calls"] = calls
    if _text(content) != _text(message.content):
        known = message.additional_kwargs.items()
        update["additional_kwargs"] = {k: v for k, v in known if k not in REPEATING}
    return message.model_copy(update=update)


def _changed_calls(message: BaseMessage, parts: Sequence[Any]) -> list[Any]:
    told: dict[Any, Any] = {}
    for part in parts:
        call = part.get("functionCall") if isinstance(part, dict) else None
        if isinstance(call, dict) and isinstance(call.get("args"), dict):
            told.setdefault(call.get("id"), call["args"])
    return [{**call, "args": told.get(call["id"], call["args"])} for call in _calls(message)]


def _block(
    part: dict[str, Any], old: Sequence[dict[str, Any]], same: Mapping[Any, dict[str, Any]]
) -> dict[str, Any] | None:
    call = part.get("functionCall")
    if isinstance(call, dict):
        return same.get(call.get("id"))
    if not isinstance(part.get("text"), str) or "type" in part:
        return part
    block = {"type": "text", **part}
    if part.get("thought"):
        rest = {k: v for k, v in part.items() if k not in ("text", "thought", "block")}
        kind = part.get("block") or THOUGHTS[0]
        block = {"type": kind, kind: part["text"], **rest}
    if block in old:
        return block
    return {key: value for key, value in block.items() if key not in BOUND}


def _rebuilt_result(message: ToolMessage, parts: Sequence[Any]) -> ToolMessage:
    """Change a tool's result; texts that hooks put beside it stand before it."""
    before = _result(message)["functionResponse"]["response"]
    after, texts, others = None, [], []
    for part in parts:
        told = part.get("functionResponse") if isinstance(part, dict) else None
        if isinstance(told, dict):
            after = told.get("response") if after is None else after
        elif isinstance(part, dict) and "type" not in part and "text" in part:
            texts.append(str(part["text"]))
        else:
            others.append(part)
    if isinstance(after, dict) and len(after) == 1 and after.keys() == before.keys():
        (after,) = after.values()
    result = _text(message.content) if after is None else text_of(after)
    whole = "\n\n".join([*texts, result])
    if not others:
        return message.model_copy(update={"content": whole})
    return message.model_copy(update={"content": [_text_block(whole), *others]})


# -- requests


def api_request(request: ModelRequest[Any]) -> Api:
    """Lay out a request, for `shown_request` and `changed_request`."""
    settings = {**_settings(request.model), **request.model_settings}
    return {
        "model": next((n for n in map(_name(request.model), NAMES) if n), ""),
        "contents": [
            {"role": _role(message), "parts": _parts(message), "message": message}
            for message in request.messages
        ],
        "config": {own: settings[key] for key, own in SAMPLING.items() if key in settings},
    }


def shown_request(api: Api) -> LLMRequest:
    """Show a request to hooks; the agent's own instructions are not in it."""
    return request_from_api(api)


def changed_request(request: ModelRequest[Any], api: Api, asked: LLMRequest) -> ModelRequest[Any]:
    """Lay what hooks made of a request over it.

    Args:
        request: The request.
        api: What `api_request` made of it.
        asked: What hooks made of it.

    Returns:
        A new request; the same one if nothing changed. Another model is not chosen yet: see
        `renamed`.
    """
    new = request_to_api(api, asked)
    overrides: dict[str, Any] = {}
    if new["contents"] is not api["contents"]:
        overrides["messages"] = [_message(entry, api["contents"]) for entry in new["contents"]]
    extra = (new["config"].get("systemInstruction") or {}).get("parts") or []
    if extra:
        system = request.system_message or SystemMessage(content="")
        overrides["system_message"] = added(system, [part["text"] for part in extra])
    sampling = {
        key: new["config"][own]
        for key, own in SAMPLING.items()
        if new["config"].get(own) != api["config"].get(own)
    }
    if sampling:
        overrides["model_settings"] = {**request.model_settings, **sampling}
    return request.override(**overrides) if overrides else request


def renamed(model: BaseChatModel, name: str) -> BaseChatModel | None:
    """Return the same client for another model; `None` if the client has no such setting."""
    for field in NAMES:
        if field in type(model).model_fields and _name(model)(field):
            return model.model_copy(update={field: name})
    return None


def offered(request: ModelRequest[Any], config: ToolConfig | None) -> ModelRequest[Any]:
    """Leave a request the tools that hooks allow; the same request if that are all."""
    if config is None:
        return request
    names = config.get("allowedFunctionNames") or ()
    tools = [tool for tool in request.tools if not names or tool_name(tool) in names]
    if config.get("mode") == "NONE":
        tools = []
    if tools and config.get("mode") == "ANY":
        return request.override(tools=tools, tool_choice="any")
    return request if len(tools) == len(request.tools) else request.override(tools=tools)


def tool_name(tool: Any) -> str:
    """Return the name of a tool, or of one that the provider has."""
    if not isinstance(tool, dict):
        return str(tool.name)
    function = tool.get("function")
    named = function.get("name") if isinstance(function, dict) else tool.get("name")
    return str(named or tool.get("type") or "")


def _role(message: BaseMessage) -> str:
    if isinstance(message, AIMessage):
        return "model"
    return "system" if isinstance(message, SystemMessage) else "user"


def _message(entry: dict[str, Any], entries: Sequence[dict[str, Any]]) -> BaseMessage:
    message = entry.get("message")
    if isinstance(message, BaseMessage):
        if any(entry is known for known in entries):
            return message
        return _rebuilt(message, entry["parts"])
    kinds = {"model": AIMessage, "system": SystemMessage}
    return _rebuilt(kinds.get(entry["role"], HumanMessage)(content=""), entry["parts"])


def _name(model: BaseChatModel) -> Any:
    def named(field: str) -> str | None:
        value = getattr(model, field, None)
        return value if isinstance(value, str) else None

    return named


def _settings(model: BaseChatModel) -> dict[str, Any]:
    values = {key: getattr(model, key, None) for key in SAMPLING}
    return {key: value for key, value in values.items() if isinstance(value, int | float)}


# -- responses


def api_response(message: AIMessage) -> Api:
    """Lay out a response, for `shown_response` and `changed_response`."""
    told = message.response_metadata
    reason = FINISHED.get(str(told.get("finish_reason") or told.get("stop_reason")).lower())
    candidate: Api = {"content": {"role": "model", "parts": _parts(message)}, "index": 0}
    if reason is not None:
        candidate["finishReason"] = reason
    api: Api = {"candidates": [candidate]}
    usage: Mapping[str, Any] = message.usage_metadata or {}
    counts = {own: usage[key] for key, own in COUNTS.items() if key in usage}
    return {**api, "usageMetadata": counts} if counts else api


def shown_response(api: Api) -> LLMResponse:
    """Show a response to hooks: its texts."""
    return response_from_api(api)


def changed_response(message: AIMessage, api: Api, response: LLMResponse) -> AIMessage:
    """Lay what hooks made of a response over it: its calls of tools and other blocks stay."""
    candidates = response_to_api(api, response)["candidates"]
    parts = (candidates[0].get("content") or {}).get("parts") or [] if candidates else []
    changed = _rebuilt(message, parts)
    assert isinstance(changed, AIMessage)  # noqa: S101 - for the type checker
    return changed


def made_response(response: LLMResponse) -> AIMessage:
    """Make a message of a response that a hook wrote."""
    changed = changed_response(AIMessage(content=""), {"candidates": []}, response)
    return changed if changed.content else AIMessage(content=response.get("text") or "")

"""The stable model API to and from the items of the OpenAI Agents SDK, without loss.

Requests hold items of the Responses API as dictionaries, responses hold them as models. A text of
an item is a text for hooks, a function call and its output are those of the Gemini API, and any
other item or part is shown as it is. Items that hooks left alone are the very same objects. Where
hooks replaced a text, the readable part of the model's reasoning is emptied, because it may repeat
what they removed; the item itself stays, because the API requires it.

It is one module because requests and responses share the rules for parts and texts of items.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from agents.models.fake_id import FAKE_RESPONSES_ID
from openai.types import responses as api

from agents import ModelResponse, Usage
from anyhook.integrations.host_tools import result_text
from anyhook.integrations.model_api import (
    SAMPLING,
    OriginalParts,
    ShownRequest,
    ShownResponse,
    usage_metadata,
)
from anyhook.integrations.openai_agents.calls import format_arguments, parse_arguments

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agents.items import TResponseOutputItem

    from agents import ModelSettings, TResponseInputItem
    from anyhook.integrations.model_api import ResponseChanges
    from anyhook.model.llm import LLMResponse, ToolConfig

    InputItems = str | list[TResponseInputItem]

STABLE_ROLES = {"assistant": "model", "developer": "system"}
SDK_ROLES = {"model": "assistant"}
TEXT_TYPES = ("input_text", "output_text", "text")
PART_TYPES = (*TEXT_TYPES, "input_image", "input_file", "input_audio", "refusal")
"""Types of parts of messages; a part of another type represents an item of its own."""
TOOL_MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY"}
TEXT_MEMBERS = {"output_text": "text", "refusal": "refusal"}
"""Type of a part of the model's messages to the member that holds its text."""


class ItemTranslator:
    """Shows items as turns; see `MessageTranslator`."""

    def role(self, item: Any) -> str:
        """Return the role of an item: the output of a tool is sent as the user's text is."""
        if not _is_message(item):
            is_output = isinstance(item, Mapping) and str(item.get("type")).endswith("_output")
            return "user" if is_output else "model"
        return STABLE_ROLES.get(item["role"], str(item["role"]))

    def parts(self, item: Any) -> list[dict[str, Any]]:
        """Return the parts of a message; another item is a single part."""
        if _is_message(item):
            return [_part_from_content(part) for part in _content_of(item)]
        if not isinstance(item, Mapping):
            return [{"item": str(item)}]
        if item.get("type") == "function_call":
            arguments = parse_arguments(item["arguments"])
            call = {"id": item["call_id"], "name": item["name"], "args": arguments}
            return [{"functionCall": call}]
        if item.get("type") == "function_call_output":
            response = {"output": item["output"]}
            result = {"id": item["call_id"], "name": "", "response": response}
            return [{"functionResponse": result}]
        return [dict(item)]

    def rebuild(self, item: Any, role: str, parts: list[Any]) -> list[Any]:
        """Return the items of parts: each call, output and the like is one, texts are a message."""
        items: list[Any] = []
        content: list[Any] = []
        old_content = _content_of(item) if _is_message(item) else []
        originals = OriginalParts(map(_part_from_content, old_content), old_content)
        for part in parts:
            if "text" in part or part.get("type") in PART_TYPES:
                content.append(originals.take(part) or part)
            else:
                items.append(_item_from_part(item, part))
        if not content:
            return items
        # The other members of the message stay.
        old = item if _is_message(item) else {"role": SDK_ROLES.get(role, role)}
        is_text = all("text" in part for part in content)
        if is_text and not isinstance(old.get("content"), list):
            return [{**old, "content": "".join(part["text"] for part in content)}, *items]
        members: dict[str, Any] = {"type": "input_text"}
        if old["role"] == "assistant":
            members = {"type": "output_text", "annotations": []}
        content = [part if "type" in part else members | part for part in content]
        return [{**old, "content": content}, *items]


def shown_request(items: InputItems, settings: ModelSettings, model: str = "") -> ShownRequest:
    """Return a request as hooks see it; the agent's instructions are not part of its input."""
    values = {key: getattr(settings, name, None) for key, name in SAMPLING.items()}
    config: dict[str, Any] = {key: value for key, value in values.items() if value is not None}
    choice = settings.tool_choice
    if isinstance(choice, str):
        named = {"mode": "ANY", "allowedFunctionNames": [choice]}
        calling = {"mode": TOOL_MODES[choice]} if choice in TOOL_MODES else named
        config["toolConfig"] = {"functionCallingConfig": calling}
    return ShownRequest(ItemTranslator(), _as_list(items), model, config)


def with_tool_mode(
    settings: ModelSettings, config: ToolConfig, *, has_tools: bool
) -> ModelSettings:
    """Apply a mode of tool calling to a model's settings; return the same object if it has it."""
    choice = settings.tool_choice
    mode = config.get("mode")
    if mode == "NONE" or not has_tools:
        choice = None
    elif mode == "ANY":
        choice = "required"
    if choice == settings.tool_choice:
        return settings
    return replace(settings, tool_choice=choice)


def prompt_text(items: InputItems) -> str:
    """Return the text of the user's last message that has one; empty if there is none."""
    for item in reversed(_as_list(items)):
        if _is_message(item) and item["role"] == "user":
            text = "".join(part["text"] for part in _content_of(item) if _is_text(part))
            if text:
                return text
    return ""


def append_to_prompt(items: InputItems, texts: Sequence[str]) -> InputItems:
    """Append texts to the user's last message; return the same object if there are none."""
    if not texts:
        return items
    text = "\n\n".join(texts)
    if isinstance(items, str):
        return f"{items}\n\n{text}"
    last: Any = items[-1] if items else {}
    if last.get("role") != "user":
        return [*items, {"role": "user", "content": text}]
    content = last["content"]
    if isinstance(content, str):
        content = f"{content}\n\n{text}"
    else:
        content = [*content, {"type": "input_text", "text": text}]
    return [*items[:-1], cast("TResponseInputItem", {**last, "content": content})]


def _as_list(items: str | Iterable[Any]) -> list[Any]:
    if isinstance(items, str):
        return [{"role": "user", "content": items}]
    return list(items)


def _is_message(item: Any) -> bool:
    return isinstance(item, Mapping) and "role" in item and item.get("type", "message") == "message"


def _is_text(part: Any) -> bool:
    return isinstance(part, Mapping) and part.get("type") in TEXT_TYPES


def _content_of(item: Mapping[str, Any]) -> list[Any]:
    """Return the content of a message as parts."""
    content = item.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [part for part in content or () if isinstance(part, Mapping)]


def _part_from_content(part: Mapping[str, Any]) -> dict[str, Any]:
    return {"text": part["text"]} if _is_text(part) else dict(part)


def _item_from_part(item: Any, part: Mapping[str, Any]) -> Any:
    """Return the item of a part that hooks changed or wrote."""
    old = item if isinstance(item, Mapping) and not _is_message(item) else {}
    call, result = part.get("functionCall"), part.get("functionResponse")
    if isinstance(call, Mapping):
        arguments = format_arguments(old.get("arguments", ""), call.get("args") or {})
        new = {"call_id": call.get("id"), "name": call.get("name"), "arguments": arguments}
        return {**old, "type": "function_call", **new}
    if isinstance(result, Mapping):
        response = result.get("response")
        if isinstance(response, Mapping) and response.keys() == {"output"}:
            response = response["output"]
        output = response if isinstance(response, list) else result_text(response)
        new = {"call_id": result.get("id"), "output": output}
        return {**old, "type": "function_call_output", **new}
    return dict(part)


def shown_response(
    output: Sequence[TResponseOutputItem], usage: Usage | None = None
) -> ShownResponse:
    """Return a response as hooks see it: the texts of its messages, and its function calls."""
    parts: list[dict[str, Any]] = []
    for index, item in enumerate(output):
        parts += [{"text": text, "place": place} for place, text in _texts_of_item(item, index)]
        if item.type == "function_call":
            parts += ItemTranslator().parts(item.model_dump())
    is_cut = any(getattr(item, "status", None) == "incomplete" for item in output)
    counts = None if usage is None else usage_metadata(usage)
    return ShownResponse(parts, "MAX_TOKENS" if is_cut else "STOP", counts)


def changed_output(
    output: Sequence[TResponseOutputItem], changes: ResponseChanges
) -> list[TResponseOutputItem]:
    """Return the items of a response with the texts of hooks.

    Texts that do not correspond to the old ones take the place of the first. Items whose text did
    not change are the same objects.
    """
    places = [
        place for index, item in enumerate(output) for place, _text in _texts_of_item(item, index)
    ]
    result = list(output)
    if places:
        texts = dict.fromkeys(places, "")
        for part in changes.parts:
            if "text" in part:
                texts[part.get("place", places[0])] += part["text"]
        result = [_change_texts(item, index, texts) for index, item in enumerate(output)]
    elif changes.text:
        # Behind the reasoning that leads to it, before calls of tools.
        index = 0
        while index < len(result) and result[index].type == "reasoning":
            index += 1
        result.insert(index, message_item(changes.text))
    if result == output:
        return result
    for index, item in enumerate(result):
        if item.type == "reasoning" and (item.summary or item.content):
            result[index] = item.model_copy(update={"summary": [], "content": None})
    return result


def _texts_of_item(item: Any, index: int) -> list[tuple[tuple[int, int], str]]:
    """Return the texts of an item of a response, each with the numbers of its item and part."""
    if item.type != "message":
        return []
    return [
        ((index, number), getattr(part, TEXT_MEMBERS[part.type]) or "")
        for number, part in enumerate(item.content)
        if part.type in TEXT_MEMBERS
    ]


def new_response(response: LLMResponse, response_id: str | None = None) -> ModelResponse:
    """Return the SDK's response for one that a hook wrote.

    The next request continues from its identifier, where the server keeps the conversation.
    """
    item = message_item(ShownResponse([]).changes(response).text)
    return ModelResponse(output=[item], usage=Usage(), response_id=response_id)


def message_item(text: str) -> api.ResponseOutputMessage:
    """Return a message of the model."""
    part = api.ResponseOutputText(type="output_text", text=text, annotations=[])
    return _output_message(part)


def refusal_item(reason: str) -> api.ResponseOutputMessage:
    """Return the message of a model that refuses to answer."""
    return _output_message(api.ResponseOutputRefusal(type="refusal", refusal=reason))


def _output_message(part: Any) -> api.ResponseOutputMessage:
    return api.ResponseOutputMessage(
        id=FAKE_RESPONSES_ID, type="message", role="assistant", status="completed", content=[part]
    )


def _change_texts(item: Any, index: int, texts: Mapping[tuple[int, int], str]) -> Any:
    """Return an item with new texts, by the numbers of item and part."""
    if item.type != "message":
        return item
    parts: list[Any] = []
    for number, part in enumerate(item.content):
        text = texts.get((index, number))
        if text is None or getattr(part, TEXT_MEMBERS[part.type]) == text:
            parts.append(part)
            continue
        update: dict[str, Any] = {TEXT_MEMBERS[part.type]: text}
        # Annotations hold positions in the old text, and log probabilities repeat it.
        if part.type == "output_text":
            update |= {"annotations": [], "logprobs": None}
        parts.append(part.model_copy(update=update))
    is_same = all(new is old for new, old in zip(parts, item.content, strict=True))
    return item if is_same else item.model_copy(update={"content": parts})

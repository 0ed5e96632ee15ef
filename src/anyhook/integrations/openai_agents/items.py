"""The stable model API to and from the items of the OpenAI Agents SDK, without loss.

Requests hold items of the Responses API as dictionaries, responses hold them as models. A message
of text is shown as a string; other parts, function calls, their outputs and reasoning are typed
parts of a message. The changes of hooks are applied to the original: items that they left alone are
the very same objects, and everything that is not text stays where it was. Beside a text that hooks
replaced, the readable part of the model's reasoning is emptied, because it may repeat what they
removed; the item itself stays, because the API requires it.

It is one module because requests and responses share the rules for parts and texts of items.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from agents.models.fake_id import FAKE_RESPONSES_ID
from openai.types import responses as api

from agents import ModelResponse, Usage
from anyhook.integrations.model_api import (
    SAMPLING,
    changed_sampling,
    response_parts,
    usage_metadata,
)
from anyhook.model.json import dump_json, repair

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from agents.items import TResponseOutputItem

    from agents import ModelSettings, TResponseInputItem
    from anyhook.model.llm import LLMRequest, LLMResponse, ToolConfig

    InputItems = str | list[TResponseInputItem]

STABLE_ROLES = {"assistant": "model", "developer": "system"}
SDK_ROLES = {"model": "assistant"}
TEXT_TYPES = ("input_text", "output_text", "text")
PART_TYPES = (*TEXT_TYPES, "input_image", "input_file", "input_audio", "refusal")
"""Types of parts of messages; a part of another type represents an item of its own."""
TOOL_MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY"}
TEXT_MEMBERS = {"output_text": "text", "refusal": "refusal"}
"""Type of a part of the model's messages to the member that holds its text."""


def request_from_input(items: InputItems, settings: ModelSettings, model: str = "") -> LLMRequest:
    """Return a request in the stable form.

    Args:
        items: The input; the agent's instructions are not part of it.
        settings: The model's settings.
        model: Its name.
    """
    config: dict[str, Any] = {}
    for key, name in SAMPLING.items():
        value = getattr(settings, name, None)
        if value is not None:
            config[key] = value
    request: dict[str, Any] = {
        "model": model,
        "messages": [_message_from_item(item) for item in _as_list(items)],
        "config": config,
    }
    choice = settings.tool_choice
    if isinstance(choice, str) and choice in TOOL_MODES:
        request["toolConfig"] = {"mode": TOOL_MODES[choice]}
    elif isinstance(choice, str):
        request["toolConfig"] = {"mode": "ANY", "allowedFunctionNames": [choice]}
    return cast("LLMRequest", request)


class ChangedInput(NamedTuple):
    """The input of a model with the changes of hooks.

    Attributes:
        items: The items to send, the same object if no message changed.
        instructions: The texts of new system messages, which are no items of an input.
    """

    items: InputItems
    instructions: list[str]


def change_input(items: InputItems, before: LLMRequest, after: LLMRequest) -> ChangedInput:
    """Apply the changes of hooks to the input of a model.

    Args:
        items: The original input; not modified.
        before: The request that hooks saw.
        after: The complete request that hooks want.
    """
    old = before["messages"]
    new = after.get("messages", old)
    if new == old:
        return ChangedInput(items, [])
    return _apply_messages(_as_list(items), list(old), list(new))


def change_settings(
    settings: ModelSettings, before: LLMRequest, after: LLMRequest
) -> ModelSettings:
    """Apply sampling parameters to a model's settings; return the same object if none changed."""
    changed = changed_sampling(before.get("config") or {}, after.get("config") or {})
    changed.pop("top_k", None)  # the SDK has none
    if not changed:
        return settings
    return replace(settings, **changed)


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
        message = _message_from_item(item)
        if message["role"] != "user":
            continue
        text = _text_of_content(message["content"])
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


def _message_from_item(item: Any) -> dict[str, Any]:
    if not isinstance(item, Mapping):
        return {"role": "model", "content": [{"type": "item", "item": str(item)}]}
    if not _is_message(item):
        # A call of a tool is the model's; its output is sent to the model, as the user's text is.
        is_output = str(item.get("type", "")).endswith("_output")
        return {"role": "user" if is_output else "model", "content": [dict(item)]}
    role = STABLE_ROLES.get(item["role"], item["role"])
    return {"role": role, "content": _stable_content(item.get("content"))}


def _stable_content(content: Any) -> str | list[dict[str, Any]]:
    """Return the content of a message: one text if all its parts are texts, or typed parts."""
    if isinstance(content, str):
        return content
    parts = [part for part in content or [] if isinstance(part, Mapping)]
    if all(_is_text(part) for part in parts):
        return _text_of_content(parts)
    stable_parts: list[dict[str, Any]] = []
    for part in parts:
        stable_part = dict(part)
        if _is_text(part):
            stable_part["type"] = "text"
        stable_parts.append(stable_part)
    return stable_parts


def _is_message(item: Any) -> bool:
    return isinstance(item, Mapping) and "role" in item and item.get("type", "message") == "message"


def _is_text(part: Any) -> bool:
    return isinstance(part, Mapping) and part.get("type") in TEXT_TYPES


def _sdk_part(part: Mapping[str, Any], role: str) -> dict[str, Any]:
    if not _is_text(part):
        return dict(part)
    is_models = role in ("assistant", "model")
    return {**part, "type": "output_text" if is_models else "input_text"}


def _text_of_content(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in content if _is_text(part))


def _represents_item(message: Mapping[str, Any]) -> bool:
    """Return whether a message stands for an item that is not a message."""
    content = message["content"]
    if not isinstance(content, list) or len(content) != 1:
        return False
    return content[0].get("type") not in PART_TYPES


def _apply_messages(items: list[Any], before: list[Any], after: list[Any]) -> ChangedInput:
    """Find the item of each changed message, and keep what is not text."""
    old = [dump_json(repair(message)) for message in before]
    new = [dump_json(repair(message)) for message in after]
    writer = _InputWriter()
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for operation, i1, i2, j1, j2 in matcher.get_opcodes():
        if operation == "equal":
            writer.items += items[i1:i2]
        else:
            writer.replace(items[i1:i2], before[i1:i2], after[j1:j2])
    return ChangedInput(writer.items, writer.instructions)


@dataclass(slots=True)
class _InputWriter:
    """Writes the items of a changed input, in order.

    Attributes:
        items: The items.
        instructions: The texts of new system messages.
    """

    items: list[Any] = field(default_factory=list)
    instructions: list[str] = field(default_factory=list)

    def replace(
        self,
        items: Sequence[Any],
        messages: Sequence[Mapping[str, Any]],
        new_messages: Sequence[Mapping[str, Any]],
    ) -> None:
        """Write the items of new messages in the place of old ones.

        Each new message replaces the first item left of the same kind. Items without a new message
        lose their text: a hook removed it.

        Args:
            items: The old items.
            messages: Their messages.
            new_messages: What hooks put in their place.
        """
        position = 0
        for message in new_messages:
            match = _find_same_kind(messages, message, position)
            if match is not None:
                self._write_others(items[position:match])
                self.items.append(_rewrite_item(items[match], message))
                position = match + 1
            elif message["role"] == "system":
                self.instructions.append(_text_of_content(message["content"]))
            else:
                self.items.append(_item_from_message(message))
        self._write_others(items[position:])

    def _write_others(self, items: Sequence[Any]) -> None:
        for item in items:
            self.items += _without_text(item)


def _find_same_kind(
    messages: Sequence[Mapping[str, Any]], message: Mapping[str, Any], start: int
) -> int | None:
    """Return the index of the first message of a message's kind, from an index on."""
    for index in range(start, len(messages)):
        if _is_same_kind(messages[index], message):
            return index
    return None


def _is_same_kind(message: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    has_same_role = message["role"] == other["role"]
    return has_same_role and _represents_item(message) == _represents_item(other)


def _without_text(item: Any) -> list[Any]:
    """Return what remains of an item whose text was removed: nothing, or the item without it."""
    if not _is_message(item):
        return [item]
    others = _parts_without_text(item.get("content"))
    if not others:
        return []
    return [{**item, "content": others}]


def _parts_without_text(content: Any) -> list[Any]:
    if not isinstance(content, list):
        return []
    return [part for part in content if not _is_text(part)]


def _rewrite_item(item: Any, message: Mapping[str, Any]) -> Any:
    content = message["content"]
    if not _is_message(item):
        return {**item, **content[0], "type": item["type"]}
    role, old = item["role"], item.get("content")
    if not isinstance(content, str):
        parts = [_sdk_part(part, role) for part in content]
        parts += [part for part in _parts_without_text(old) if part not in parts]
        return {**item, "content": parts}
    if not isinstance(old, str):
        return {**item, "content": _replace_text(old, content, role)}
    return {**item, "content": content}


def _replace_text(parts: list[Any], text: str, role: str) -> list[Any]:
    """Put a text in the place of the first text, and remove the other texts."""
    new = _sdk_part({"type": "text", "text": text}, role)
    if role == "assistant":
        new["annotations"] = []
    index = 0
    while index < len(parts) and not _is_text(parts[index]):
        index += 1
    return [*parts[:index], new, *_parts_without_text(parts[index:])]


def _item_from_message(message: Mapping[str, Any]) -> Any:
    content = message["content"]
    if _represents_item(message):
        return dict(content[0])
    role = SDK_ROLES.get(message["role"], message["role"])
    if not isinstance(content, str):
        content = [_sdk_part(part, role) for part in content]
    return {"role": role, "content": content}


def response_from_output(
    output: Sequence[TResponseOutputItem], usage: Usage | None = None
) -> LLMResponse:
    """Return a response in the stable form; its parts are the texts of its messages."""
    texts = _texts_of_output(output)
    is_cut = any(getattr(item, "status", None) == "incomplete" for item in output)
    candidate = {
        "content": {"role": "model", "parts": texts},
        "finishReason": "MAX_TOKENS" if is_cut else "STOP",
        "index": 0,
    }
    response: dict[str, Any] = {"candidates": [candidate]}
    if texts:
        response["text"] = "".join(texts)
    if usage is not None:
        response["usageMetadata"] = usage_metadata(usage)
    return cast("LLMResponse", response)


def change_output(
    output: Sequence[TResponseOutputItem], response: LLMResponse
) -> list[TResponseOutputItem]:
    """Apply the texts of hooks to the items of a response.

    Args:
        output: The original items; not modified.
        response: The complete response that hooks want.

    Returns:
        The items; those whose text did not change, and that hold no readable reasoning, are the
        same objects.
    """
    old, new = _texts_of_output(output), response_parts(response)
    if old == new:
        return list(output)
    if len(old) != len(new):
        new = ["".join(new)] + [""] * (len(old) - 1)
    if old:
        texts = iter(zip(old, new, strict=True))
        result = [_replace_item_texts(item, texts) for item in output]
    else:
        result = _insert_message(output, new[0])
    return [_without_readable_reasoning(item) for item in result]


def _insert_message(output: Sequence[TResponseOutputItem], text: str) -> list[TResponseOutputItem]:
    """Put a message behind the reasoning that leads to it, before calls of tools."""
    index = 0
    while index < len(output) and output[index].type == "reasoning":
        index += 1
    return [*output[:index], message_item(text), *output[index:]]


def new_response(response: LLMResponse, response_id: str | None = None) -> ModelResponse:
    """Return the SDK's response for one that a hook wrote.

    Args:
        response: The response in the stable form.
        response_id: What the next request continues, where the server keeps the conversation.
    """
    item = message_item("".join(response_parts(response)))
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


def _texts_of_output(output: Iterable[Any]) -> list[str]:
    texts: list[str] = []
    for item in output:
        if item.type != "message":
            continue
        parts = [part for part in item.content if part.type in TEXT_MEMBERS]
        texts += [getattr(part, TEXT_MEMBERS[part.type]) or "" for part in parts]
    return texts


def _replace_item_texts(item: Any, texts: Iterator[tuple[str, str]]) -> Any:
    """Return an item with its next texts replaced; `texts` yields old and new ones."""
    if item.type != "message":
        return item
    parts = [_replace_part_text(part, texts) for part in item.content]
    is_same = all(new is old for new, old in zip(parts, item.content, strict=True))
    if is_same:
        return item
    return item.model_copy(update={"content": parts})


def _replace_part_text(part: Any, texts: Iterator[tuple[str, str]]) -> Any:
    if part.type not in TEXT_MEMBERS:
        return part
    old, new = next(texts)
    if old == new:
        return part
    update: dict[str, Any] = {TEXT_MEMBERS[part.type]: new}
    # Annotations hold positions in the old text, and log probabilities repeat it.
    if part.type == "output_text":
        update |= {"annotations": [], "logprobs": None}
    return part.model_copy(update=update)


def _without_readable_reasoning(item: Any) -> Any:
    is_readable = item.type == "reasoning" and (item.summary or item.content)
    if not is_readable:
        return item
    return item.model_copy(update={"summary": [], "content": None})

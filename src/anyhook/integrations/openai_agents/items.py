"""The stable model API to and from the items of the OpenAI Agents SDK, without loss.

Requests hold items of the Responses API as dictionaries, responses hold them as models. A message
of text is shown as a string; other parts, function calls, their outputs and reasoning are typed
parts of a message. What hooks say is laid over what it was made from: items that they left alone
are the very same objects, and everything that is no text stays where it was. Beside a text that
hooks replaced, the readable part of the model's reasoning is emptied: it may repeat what they
removed; the item itself stays, the API wants it back.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, cast

from agents.models.fake_id import FAKE_RESPONSES_ID
from openai.types import responses as api

from agents import ModelResponse, Usage
from anyhook.model.json import dump_json, repair

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from agents.items import TResponseOutputItem

    from agents import ModelSettings, TResponseInputItem
    from anyhook.model.llm import LLMRequest, LLMResponse, ToolConfig

SHOWN_ROLES = {"assistant": "model", "developer": "system"}
OWN_ROLES = {"model": "assistant"}
TEXTS = ("input_text", "output_text", "text")
PARTS = (*TEXTS, "input_image", "input_file", "input_audio", "refusal")
"""Types of parts of messages; any other part stands for an item of its own."""
SETTINGS = {"temperature": "temperature", "topP": "top_p", "maxOutputTokens": "max_tokens"}
MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY"}
OWN_TEXT = {"output_text": "text", "refusal": "refusal"}
"""Type of a part of the model's messages to the member that holds its text."""


# -- requests


def request_from_input(
    items: str | list[TResponseInputItem], settings: ModelSettings, model: str = ""
) -> LLMRequest:
    """Show what the model is about to be sent in the stable form.

    Args:
        items: The input; instructions of the agent are not part of it.
        settings: The model's settings.
        model: Its name.

    Returns:
        A stable request.
    """
    request: dict[str, Any] = {"model": model}
    request["messages"] = [_message(item) for item in _items(items)]
    values = {key: getattr(settings, own) for key, own in SETTINGS.items()}
    request["config"] = {key: value for key, value in values.items() if value is not None}
    choice = settings.tool_choice
    if isinstance(choice, str):
        named = {"mode": "ANY", "allowedFunctionNames": [choice]}
        request["toolConfig"] = {"mode": MODES[choice]} if choice in MODES else named
    return cast("LLMRequest", request)


def request_to_input(
    items: str | list[TResponseInputItem], before: LLMRequest, after: LLMRequest
) -> tuple[str | list[TResponseInputItem], list[str]]:
    """Lay a stable request over the input that it was made from.

    Args:
        items: The original input; not modified.
        before: What was shown of it.
        after: The stable request, whole.

    Returns:
        The input to send, the same object if no message changed; and new instructions.
    """
    old, new = before["messages"], after.get("messages", before["messages"])
    if new == old:
        return items, []
    made, instructions = _realign(_items(items), list(old), list(new))
    return cast("list[TResponseInputItem]", made), instructions


def settings_to_own(
    settings: ModelSettings, before: LLMRequest, after: LLMRequest
) -> ModelSettings:
    """Lay sampling parameters over the model's settings; the same object if none changed."""
    old, new = before.get("config") or {}, after.get("config") or {}
    changed = {
        own: new[key]  # type: ignore[literal-required]
        for key, own in SETTINGS.items()
        if key in new and new.get(key) != old.get(key)
    }
    return dataclasses.replace(settings, **changed) if changed else settings


def choice_to_own(settings: ModelSettings, config: ToolConfig, any_left: bool) -> ModelSettings:
    """Lay a mode of tool calling over the model's settings."""
    choice = {"ANY": "required", "NONE": None}.get(config.get("mode", ""), settings.tool_choice)
    if not any_left:
        choice = None
    if choice == settings.tool_choice:
        return settings
    return dataclasses.replace(settings, tool_choice=choice)


def prompt_of(items: str | list[TResponseInputItem]) -> str:
    """Return the text of the user's last message; empty if there is none."""
    shown = [_message(item) for item in _items(items)]
    said = [message["content"] for message in shown if message["role"] == "user"]
    texts = [text for text in map(_text_of, said) if text]
    return texts[-1] if texts else ""


def add_to_prompt(
    items: str | list[TResponseInputItem], texts: Sequence[str]
) -> str | list[TResponseInputItem]:
    """Put texts behind the user's last message; the same object if there are none."""
    if not texts:
        return items
    if isinstance(items, str):
        return "\n\n".join((items, *texts))
    last: Any = items[-1] if items else {}
    joined = "\n\n".join(texts)
    if last.get("role") != "user":
        return [*items, {"role": "user", "content": joined}]
    content = last["content"]
    if isinstance(content, str):
        content = f"{content}\n\n{joined}"
    else:
        content = [*content, {"type": "input_text", "text": joined}]
    return [*items[:-1], cast("TResponseInputItem", {**last, "content": content})]


def _items(items: str | Iterable[Any]) -> list[Any]:
    return [{"role": "user", "content": items}] if isinstance(items, str) else list(items)


def _message(item: Any) -> dict[str, Any]:
    if not _is_message(item):
        kind = str(item.get("type", "")) if isinstance(item, Mapping) else ""
        shown = dict(item) if isinstance(item, Mapping) else {"type": "item", "item": str(item)}
        return {"role": "user" if kind.endswith("_output") else "model", "content": [shown]}
    role = SHOWN_ROLES.get(item["role"], item["role"])
    content = item.get("content")
    if isinstance(content, str):
        return {"role": role, "content": content}
    parts = [part for part in content or [] if isinstance(part, Mapping)]
    if all(_is_text(part) for part in parts):
        return {"role": role, "content": "".join(part["text"] for part in parts)}
    return {"role": role, "content": [_typed(part) for part in parts]}


def _is_message(item: Any) -> bool:
    return isinstance(item, Mapping) and "role" in item and item.get("type", "message") == "message"


def _is_text(part: Any) -> bool:
    return isinstance(part, Mapping) and part.get("type") in TEXTS


def _typed(part: Mapping[str, Any]) -> dict[str, Any]:
    return {**part, "type": "text"} if _is_text(part) else dict(part)


def _untyped(part: Mapping[str, Any], role: str) -> dict[str, Any]:
    own = "output_text" if role in ("assistant", "model") else "input_text"
    return {**part, "type": own} if _is_text(part) else dict(part)


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in content if _is_text(part))


def _stands_for_item(message: Mapping[str, Any]) -> bool:
    content = message["content"]
    return isinstance(content, list) and len(content) == 1 and content[0].get("type") not in PARTS


def _realign(items: list[Any], before: list[Any], after: list[Any]) -> tuple[list[Any], list[str]]:
    """Find which item each message comes from, and carry what is no text over."""
    old, new = ([dump_json(repair(m)) for m in many] for many in (before, after))
    made: list[Any] = []
    instructions: list[str] = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            made += items[i1:i2]
            continue
        left = list(range(i1, i2))
        for message in after[j1:j2]:
            twin = next((i for i in left if _are_twins(before[i], message)), None)
            if twin is not None:
                made += [x for i in left[: left.index(twin)] for x in _rest_of(items[i])]
                left = left[left.index(twin) + 1 :]
                made.append(_rewrite(items[twin], message))
            elif message["role"] == "system":
                instructions.append(_text_of(message["content"]))
            else:
                made.append(_new_item(message))
        made += [x for i in left for x in _rest_of(items[i])]
    return made, instructions


def _are_twins(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return one["role"] == other["role"] and _stands_for_item(one) == _stands_for_item(other)


def _rest_of(item: Any) -> list[Any]:
    """Return what survives of an item that was left out: all that is no text."""
    if not _is_message(item):
        return [item]
    content = item.get("content")
    rest = [p for p in content if not _is_text(p)] if isinstance(content, list) else []
    return [{**item, "content": rest}] if rest else []


def _rewrite(item: Any, message: Mapping[str, Any]) -> Any:
    content = message["content"]
    if not _is_message(item):
        return {**item, **content[0], "type": item["type"]}
    parts = item.get("content")
    if isinstance(content, str):
        new: Any = content if isinstance(parts, str) else _with_text(parts, content, item["role"])
    else:
        new = [_untyped(part, item["role"]) for part in content]
        kept = parts if isinstance(parts, list) else []
        new += [part for part in kept if not _is_text(part) and part not in new]
    return {**item, "content": new}


def _with_text(parts: list[Any], text: str, role: str) -> list[Any]:
    """Put a text where the first text was; drop the others, keep every other part."""
    first = next((i for i, part in enumerate(parts) if _is_text(part)), len(parts))
    new = _untyped({"type": "text", "text": text}, role)
    if role == "assistant":
        new["annotations"] = []
    return [*parts[:first], new, *(part for part in parts[first:] if not _is_text(part))]


def _new_item(message: Mapping[str, Any]) -> Any:
    if _stands_for_item(message):
        return dict(message["content"][0])
    role = OWN_ROLES.get(message["role"], message["role"])
    content = message["content"]
    if not isinstance(content, str):
        content = [_untyped(part, role) for part in content]
    return {"role": role, "content": content}


# -- responses


def response_from_output(
    output: Sequence[TResponseOutputItem], usage: Usage | None = None
) -> LLMResponse:
    """Show what the model said in the stable form; its parts are the texts of its messages.

    Args:
        output: The items of the response.
        usage: What it cost.

    Returns:
        A stable response.
    """
    texts = _texts(output)
    cut = any(getattr(item, "status", None) == "incomplete" for item in output)
    candidate = {
        "content": {"role": "model", "parts": texts},
        "finishReason": "MAX_TOKENS" if cut else "STOP",
        "index": 0,
    }
    response: dict[str, Any] = {"candidates": [candidate]}
    if texts:
        response["text"] = "".join(texts)
    if usage is not None:
        response["usageMetadata"] = {
            "promptTokenCount": usage.input_tokens,
            "candidatesTokenCount": usage.output_tokens,
            "totalTokenCount": usage.total_tokens,
        }
    return cast("LLMResponse", response)


def response_to_output(
    output: Sequence[TResponseOutputItem], response: LLMResponse
) -> list[TResponseOutputItem]:
    """Lay the texts of a stable response over the items that it was made from.

    Args:
        output: The original items; not modified.
        response: The stable response, whole.

    Returns:
        The items; those without a text that changed, and without readable reasoning, are the same.
    """
    old, new = _texts(output), _new_texts(response)
    if old == new:
        return list(output)
    if len(old) != len(new):
        new = ["".join(new)] + [""] * (len(old) - 1)
    if not old:
        behind = next((i for i, x in enumerate(output) if x.type != "reasoning"), len(output))
        made = [*output[:behind], message_item(new[0]), *output[behind:]]
    else:
        texts = iter(zip(old, new, strict=True))
        made = [_with_texts(item, texts) for item in output]
    return [_without_thoughts(item) for item in made]


def response_of(response: LLMResponse, response_id: str | None = None) -> ModelResponse:
    """Make the SDK's response of one that a hook wrote.

    Args:
        response: The stable response.
        response_id: What the next request goes on from, where the server keeps the conversation.
    """
    item = message_item("".join(_new_texts(response)))
    return ModelResponse(output=[item], usage=Usage(), response_id=response_id)


def message_item(text: str) -> api.ResponseOutputMessage:
    """Make a message of the model."""
    part = api.ResponseOutputText(type="output_text", text=text, annotations=[])
    return _message_item(part)


def refusal_item(reason: str) -> api.ResponseOutputMessage:
    """Make the message of a model that does not answer."""
    return _message_item(api.ResponseOutputRefusal(type="refusal", refusal=reason))


def _message_item(part: Any) -> api.ResponseOutputMessage:
    return api.ResponseOutputMessage(
        id=FAKE_RESPONSES_ID, type="message", role="assistant", status="completed", content=[part]
    )


def _texts(output: Iterable[Any]) -> list[str]:
    messages = [item for item in output if item.type == "message"]
    return [
        getattr(part, OWN_TEXT[part.type]) or ""
        for item in messages
        for part in item.content
        if part.type in OWN_TEXT
    ]


def _new_texts(response: LLMResponse) -> list[str]:
    candidates = response.get("candidates") or []
    content = candidates[0].get("content") or {} if candidates else {}
    return list(content.get("parts") or [])


def _with_texts(item: Any, texts: Iterator[tuple[str, str]]) -> Any:
    if item.type != "message":
        return item
    parts = [_with_own_text(part, texts) for part in item.content]
    same = all(a is b for a, b in zip(parts, item.content, strict=True))
    return item if same else item.model_copy(update={"content": parts})


def _with_own_text(part: Any, texts: Iterator[tuple[str, str]]) -> Any:
    if part.type not in OWN_TEXT:
        return part
    old, new = next(texts)
    if old == new:
        return part
    update: dict[str, Any] = {OWN_TEXT[part.type]: new}
    if part.type == "output_text":  # both speak of places in the old text, and repeat it
        update |= {"annotations": [], "logprobs": None}
    return part.model_copy(update=update)


def _without_thoughts(item: Any) -> Any:
    if item.type != "reasoning" or not (item.summary or item.content):
        return item
    return item.model_copy(update={"summary": [], "content": None})

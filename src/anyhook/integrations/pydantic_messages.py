"""The stable model API to and from Pydantic AI's messages, without loss.

Messages become turns of the Gemini API, whose translator lays a hook's changes over them; every
part remembers what it was written from, so that what no hook touched is the framework's own object
afterwards. A thought in the history is no text of its turn: it stays where it was. In a response
hooks see it, and text that is replaced takes the thoughts beside it along, for they may repeat what
a hook removed; of a signed thought the signature stays in its place, since the provider needs it.
"""

from __future__ import annotations

import base64
import logging
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from pydantic_ai import messages as m
from pydantic_core import to_jsonable_python

from anyhook.agents.gemini.model_api import request_from_api, request_to_api
from anyhook.model.json import dump_json, repair

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.settings import ModelSettings

    from anyhook.model.llm import LLMRequest, LLMResponse, ToolConfig

log = logging.getLogger("anyhook.integrations")

SETTINGS = {
    "temperature": "temperature",
    "maxOutputTokens": "max_tokens",
    "topP": "top_p",
    "topK": "top_k",
}
"""Sampling parameters of the stable form to those of `ModelSettings`."""
FINISHED = {
    "stop": "STOP",
    "tool_call": "STOP",
    "length": "MAX_TOKENS",
    "content_filter": "SAFETY",
    "error": "OTHER",
}
REASONS: dict[str, m.FinishReason] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "OTHER": "error",
}


def plain(value: object) -> Any:
    """Write a value of a program as JSON; what has no JSON form becomes its text."""
    return to_jsonable_python(value, bytes_mode="base64", fallback=str)


@dataclass(frozen=True)
class Request:
    """What a model is asked: the three arguments of `Model.request`.

    Attributes:
        messages: The conversation.
        settings: Sampling parameters and the like.
        parameters: Tools, output and instructions.
        model: Name of the model.
    """

    messages: list[m.ModelMessage]
    settings: ModelSettings | None
    parameters: ModelRequestParameters
    model: str

    def stable(self) -> LLMRequest:
        """Show it to hooks."""
        return request_from_api(self._api)

    def changed(self, request: LLMRequest, tools: ToolConfig | None = None) -> Request:
        """Lay a stable request over it.

        Args:
            request: The stable request, whole.
            tools: The tools that the model may call, in the framework's names; `None` for all.

        Returns:
            This very request if there is nothing to change; otherwise one in which every message
            and part that no hook touched is still the original object.
        """
        chosen = self if tools is None else self._with_tools(tools)
        api = self._api
        if request == request_from_api(api):
            return chosen
        made = request_to_api(api, request)
        messages = self.messages
        if made["contents"] is not api["contents"]:
            messages = _messages(made["contents"], messages)
        config = made["config"]
        given = {SETTINGS[k]: v for k, v in config.items() if k in SETTINGS}
        instructions = config.get("systemInstruction", {}).get("parts", [])
        return replace(
            chosen,
            messages=messages,
            settings=cast("ModelSettings", {**(chosen.settings or {}), **given}) or None,
            parameters=_instructed(chosen.parameters, [part["text"] for part in instructions]),
            model=made["model"],
        )

    @cached_property
    def _api(self) -> dict[str, Any]:
        settings = cast("Mapping[str, Any]", self.settings or {})
        config = {key: settings[own] for key, own in SETTINGS.items() if own in settings}
        return {"model": self.model, "contents": _turns(self.messages), "config": config}

    def _with_tools(self, config: ToolConfig) -> Request:
        names = config.get("allowedFunctionNames")
        mode = config.get("mode", "AUTO")
        if mode != "NONE" and not names:
            offered = self.parameters.function_tools
        else:
            wanted = () if mode == "NONE" else names or ()
            offered = [t for t in self.parameters.function_tools if t.name in wanted]
        settings = self.settings
        if mode == "ANY" and offered:
            settings = cast("ModelSettings", {**(settings or {}), "tool_choice": "required"})
        parameters = replace(self.parameters, function_tools=offered)
        return replace(self, settings=settings, parameters=parameters)


def response_to_stable(response: m.ModelResponse) -> LLMResponse:
    """Show a response to hooks: its texts, those of thoughts among the parts only."""
    texts = [part.content for part in response.parts if isinstance(part, SPOKEN)]
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": texts}, "index": 0}
    if response.finish_reason is not None:
        candidate["finishReason"] = FINISHED[response.finish_reason]
    usage = {
        "promptTokenCount": response.usage.input_tokens,
        "candidatesTokenCount": response.usage.output_tokens,
        "totalTokenCount": response.usage.total_tokens,
    }
    said = "".join(part.content for part in response.parts if isinstance(part, m.TextPart))
    shown: Any = {"text": said, "candidates": [candidate], "usageMetadata": usage}
    return shown  # type: ignore[no-any-return]


def response_from_stable(response: LLMResponse, original: m.ModelResponse) -> m.ModelResponse:
    """Lay a stable response over the one that it was made from.

    Args:
        response: The stable response, whole.
        original: The framework's response; an empty one for a synthetic response. Not modified.

    Returns:
        A response that keeps everything but the texts that changed; its usage is the original's.
    """
    candidates: Any = response.get("candidates") or [{}]
    texts = (candidates[0].get("content") or {}).get("parts")
    if texts is None:
        texts = [response["text"]] if "text" in response else []
    made = replace(original, parts=_with_texts(original.parts, list(texts)))
    reason = candidates[0].get("finishReason")
    if reason is not None and reason != FINISHED.get(str(original.finish_reason)):
        made.finish_reason = REASONS.get(reason, "error")
    return made


SPOKEN = (m.TextPart, m.ThinkingPart)


def _with_texts(
    parts: Sequence[m.ModelResponsePart], texts: list[str]
) -> Sequence[m.ModelResponsePart]:
    spoken = [part for part in parts if isinstance(part, SPOKEN)]
    if len(spoken) == len(texts):
        new = iter(texts)
        return [_say(p, next(new)) if isinstance(p, SPOKEN) else p for p in parts]
    made: list[m.ModelResponsePart] = []
    waiting: list[m.ModelResponsePart] = [m.TextPart(text) for text in texts]
    for part in parts:
        if isinstance(part, m.TextPart):
            made += waiting
            waiting = []
        elif not isinstance(part, m.ThinkingPart):
            made.append(part)
        elif part.signature:
            made.append(replace(part, content=""))
    thoughts = next((i for i, p in enumerate(made) if not isinstance(p, m.ThinkingPart)), len(made))
    return [*made[:thoughts], *waiting, *made[thoughts:]]


def _say(part: m.TextPart | m.ThinkingPart, text: str) -> m.ModelResponsePart:
    """Change a text; its identifier at the provider stands for the old one and goes."""
    if part.content == text:
        return part
    if isinstance(part, m.ThinkingPart):
        return replace(part, content=text)
    return m.TextPart(text)


# -- the conversation


@dataclass(frozen=True)
class _Piece:
    """One part of a turn, and what it was written from: an item of a prompt, or a part itself."""

    api: dict[str, Any]
    part: Any
    item: Any = None


def _turns(messages: list[m.ModelMessage]) -> list[dict[str, Any]]:
    """Write messages as turns of the Gemini API; each carries its message and its pieces along."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        for part in message.parts:
            role = _role(message, part)
            last = turns[-1] if turns else {}
            if last.get("message") is not message or last["role"] != role:
                turns.append({"role": role, "parts": [], "message": message, "pieces": []})
            pieces = list(_pieces(part))
            turns[-1]["pieces"] += pieces
            turns[-1]["parts"] += [piece.api for piece in pieces]
    return turns


def _role(message: m.ModelMessage, part: object) -> str:
    if isinstance(message, m.ModelResponse):
        return "model"
    return "system" if isinstance(part, m.SystemPromptPart) else "user"


def _pieces(part: Any) -> Iterator[_Piece]:
    if isinstance(part, m.UserPromptPart):
        items = [part.content] if isinstance(part.content, str) else part.content
        for item in items:
            yield _Piece(_item(item), part, item)
    elif isinstance(part, m.SystemPromptPart | m.TextPart):
        yield _Piece({"text": part.content}, part)
    else:
        yield _Piece(_other(part), part)


def _item(item: Any) -> dict[str, Any]:
    if isinstance(item, str):
        return {"text": item}
    if isinstance(item, m.TextContent):
        return {"text": item.content}
    if isinstance(item, m.BinaryContent):
        return _inline(item)
    if isinstance(item, m.FileUrl):
        return {"fileData": {"fileUri": item.url}}
    return {"part": repair(plain(item))}


def _inline(file: m.BinaryContent) -> dict[str, Any]:
    data = base64.b64encode(file.data).decode("ascii")
    return {"inlineData": {"mimeType": file.media_type, "data": data}}


def _called(part: Any) -> dict[str, Any]:
    arguments = repair(plain(part.args_as_dict(raise_if_invalid=False)))
    return {"functionCall": {"id": part.tool_call_id, "name": part.tool_name, "args": arguments}}


def _returned(part: Any) -> dict[str, Any]:
    output = {"output": repair(plain(part.content))}
    answer = {"id": part.tool_call_id, "name": part.tool_name, "response": output}
    return {"functionResponse": answer}


FORMS: tuple[tuple[type, Callable[[Any], dict[str, Any]]], ...] = (
    (m.BaseToolCallPart, _called),
    (m.BaseToolReturnPart, _returned),
    (m.FilePart, lambda part: _inline(part.content)),
)


def _other(part: object) -> dict[str, Any]:
    form = next((form for kind, form in FORMS if isinstance(part, kind)), None)
    return form(part) if form else {"part": repair(plain(part))}


def _messages(turns: list[dict[str, Any]], originals: list[m.ModelMessage]) -> list[m.ModelMessage]:
    """Read turns back; a message of which nothing changed is the original object."""
    made: list[tuple[m.ModelMessage | None, str, list[Any]]] = []
    for turn in turns:
        parts = _parts(turn)
        owner = turn.get("message")
        if made and owner is not None and made[-1][0] is owner:
            made[-1][2].extend(parts)
        else:
            made.append((owner, turn["role"], parts))
    whole = [_message(owner, role, parts) for owner, role, parts in made if parts]
    kept = {id(owner) for owner, _, _ in made}
    # A message without parts is no turn, so hooks cannot have taken it out.
    silent = [msg for msg in originals if not msg.parts and id(msg) not in kept]
    return [*whole, *silent]


def _message(owner: m.ModelMessage | None, role: str, parts: list[Any]) -> m.ModelMessage:
    if owner is None:
        return m.ModelResponse(parts=parts) if role == "model" else m.ModelRequest(parts=parts)
    same = len(parts) == len(owner.parts) and all(map(_is, parts, owner.parts))
    if same:
        return owner
    made: m.ModelMessage = replace(cast("Any", owner), parts=parts)
    return made


def _is(one: object, other: object) -> bool:
    return one is other


def _parts(turn: dict[str, Any]) -> list[Any]:
    known: dict[bytes, list[_Piece]] = {}
    for piece in turn.get("pieces", ()):
        known.setdefault(dump_json(piece.api), []).append(piece)
    found = [_known(part, known) for part in turn["parts"]]
    pieces = [piece for piece in found if piece is not None]
    if turn["role"] != "user":
        new = m.TextPart if turn["role"] == "model" else m.SystemPromptPart
        return [new(p.api["text"]) if p.part is None else p.part for p in pieces]
    return _user_parts(pieces)


def _known(api: Any, known: dict[bytes, list[_Piece]]) -> _Piece | None:
    """Return the piece that a part was written from; a new text is a piece of its own."""
    same = known.get(dump_json(api))
    if same:
        return same.pop(0)
    if isinstance(api, dict) and isinstance(api.get("text"), str):
        return _Piece(api, None, api["text"])
    log.warning("a hook's new part that is no text was left out of the request")
    return None


def _user_parts(pieces: list[_Piece]) -> list[Any]:
    """Put what the user said together again: items of one prompt, with new texts among them."""
    parts: list[Any] = []
    run: list[_Piece] = []
    for piece in pieces:
        says = piece.part is None or isinstance(piece.part, m.UserPromptPart)
        owners = {id(p.part) for p in (*run, piece) if p.part is not None}
        if run and (not says or len(owners) > 1):
            parts.append(_prompt(run))
            run = []
        if says:
            run.append(piece)
        else:
            parts.append(piece.part)
    return [*parts, _prompt(run)] if run else parts


def _prompt(run: list[_Piece]) -> m.UserPromptPart:
    owner = next((piece.part for piece in run if piece.part is not None), None)
    items = [piece.item for piece in run]
    old = [] if owner is None else [piece.item for piece in _pieces(owner)]
    if owner is not None and len(items) == len(old) and all(map(_is, items, old)):
        return cast("m.UserPromptPart", owner)
    content: Any = items[0] if len(items) == 1 and isinstance(items[0], str) else items
    return m.UserPromptPart(content) if owner is None else replace(owner, content=content)


def _instructed(
    parameters: ModelRequestParameters, instructions: list[str]
) -> ModelRequestParameters:
    if not instructions:
        return parameters
    added = [m.InstructionPart(text, dynamic=True) for text in instructions]
    return replace(parameters, instruction_parts=[*(parameters.instruction_parts or []), *added])

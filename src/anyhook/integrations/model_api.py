"""What the frameworks share of the translation to and from the stable model API, without loss.

The messages of every framework are shown to hooks in the parts of the Gemini API, whose translator
finds what hooks changed. What they left alone comes back as the framework's own object.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from anyhook.agents.gemini.model_api import (
    request_from_api,
    request_to_api,
    response_from_api,
    response_to_api,
)
from anyhook.agents.gemini.model_turns import is_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from anyhook.model.llm import LLMRequest, LLMResponse, ToolConfig

SAMPLING = {
    "temperature": "temperature",
    "maxOutputTokens": "max_tokens",
    "topP": "top_p",
    "topK": "top_k",
}
"""Sampling parameters of the stable form to the names that the frameworks share."""
TOKEN_COUNTS = {
    "promptTokenCount": "input_tokens",
    "candidatesTokenCount": "output_tokens",
    "totalTokenCount": "total_tokens",
}
"""Counts of a response's usage in the stable form to the names that the frameworks share."""


def sampling_config(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return a framework's sampling parameters in the stable form."""
    return {key: settings[name] for key, name in SAMPLING.items() if settings.get(name) is not None}


class MessageTranslator(Protocol):
    """Translates the messages of a framework to the turns of the Gemini API, and back."""

    def role(self, message: Any) -> str:
        """Return the role of a message: `user`, `model` or `system`."""

    def parts(self, message: Any) -> list[dict[str, Any]]:
        """Return the parts of a message as JSON."""

    def rebuild(self, message: Any, role: str, parts: list[Any]) -> list[Any]:
        """Return the messages of a turn that hooks changed, or wrote (then `message` is `None`)."""


@dataclass(frozen=True, slots=True)
class RequestChanges:
    """What hooks changed of a request."""

    model: str | None
    """Name of another model; `None` for the same."""
    messages: list[Any] | None
    """The whole conversation; `None` if it is the same."""
    instructions: list[str]
    """Texts of new system messages, which are added to the agent's instructions."""
    config: dict[str, Any]
    """Members of the configuration that changed, as the Gemini API names them."""

    @property
    def sampling(self) -> dict[str, Any]:
        """The sampling parameters that changed, with the names that the frameworks share."""
        return {SAMPLING[key]: self.config[key] for key in SAMPLING.keys() & self.config.keys()}


class ShownRequest:
    """A request of a framework as hooks see it.

    The model is empty if it is not known; the configuration holds sampling parameters and
    `toolConfig`, as the Gemini API names them. `stable` is the request in the stable form.
    """

    def __init__(
        self,
        translator: MessageTranslator,
        messages: Iterable[Any],
        model: str,
        config: Mapping[str, Any],
    ) -> None:
        self._translator = translator
        contents = [
            {"role": translator.role(message), "parts": translator.parts(message), "of": message}
            for message in messages
        ]
        self._api: dict[str, Any] = {"model": model, "contents": contents, "config": config}
        self.stable: LLMRequest = request_from_api(self._api)

    def changes(self, request: LLMRequest) -> RequestChanges | None:
        """Return what hooks changed, given the complete request; `None` if that is nothing."""
        if request == self.stable:
            return None
        old, new = self._api, request_to_api(self._api, request)
        messages: list[Any] | None = None
        if new["contents"] is not old["contents"]:
            shown_parts = {id(turn["of"]): turn["parts"] for turn in old["contents"]}
            messages = []
            for turn in new["contents"]:
                message = turn.get("of")
                if message is not None and turn["parts"] == shown_parts[id(message)]:
                    messages.append(message)
                else:
                    messages += self._translator.rebuild(message, turn["role"], turn["parts"])
        config = dict(new["config"])
        instruction = config.pop("systemInstruction", {"parts": ()})
        return RequestChanges(
            model=None if new["model"] == old["model"] else new["model"],
            messages=messages,
            instructions=[part["text"] for part in instruction["parts"]],
            config={key: value for key, value in config.items() if value != old["config"].get(key)},
        )


@dataclass(frozen=True, slots=True)
class ResponseChanges:
    """What hooks make of a response."""

    parts: list[dict[str, Any]]
    """All of its parts. A part whose text changed keeps its other members; a new text has none,
    unless it takes the place of the response's first one."""
    finish_reason: str | None
    """Why it ended; `None` if that is the same."""
    usage: dict[str, Any] | None
    """The token counts; `None` if they are the same."""

    @property
    def text(self) -> str:
        """All text of the response."""
        return "".join(part["text"] for part in self.parts if is_text(part))


class ShownResponse:
    """A response of a framework as hooks see it: its texts, and the calls of tools.

    Parts, finish reason and token counts are as the Gemini API names them; hooks do not see further
    members of a text. `stable` is the response in the stable form.
    """

    def __init__(
        self,
        parts: Iterable[dict[str, Any]],
        finish_reason: str | None = None,
        usage: Mapping[str, Any] | None = None,
    ) -> None:
        candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
        if finish_reason is not None:
            candidate["finishReason"] = finish_reason
        self._api: dict[str, Any] = {"candidates": [candidate]}
        if usage:
            self._api["usageMetadata"] = dict(usage)
        self.stable: LLMResponse = response_from_api(self._api)

    def changes(self, response: LLMResponse) -> ResponseChanges:
        """Return what hooks make of the response.

        Of the complete response only the first candidate counts; its `text` is used if it has no
        parts.
        """
        candidate: Any = (response.get("candidates") or [{}])[0]
        has_parts = (candidate.get("content") or {}).get("parts") is not None
        if not has_parts and "text" in response:
            candidate = {**candidate, "content": {"parts": [response["text"]]}}
        api = response_to_api(self._api, {**response, "candidates": [candidate]})
        (old,), (new,) = self._api["candidates"], api["candidates"]
        reason, usage = new.get("finishReason"), api.get("usageMetadata")
        return ResponseChanges(
            parts=new["content"]["parts"],
            finish_reason=None if reason == old.get("finishReason") else reason,
            usage=None if usage == self._api.get("usageMetadata") else usage,
        )


class OriginalParts:
    """The parts of a message, by what hooks saw of each, as the Gemini API names it."""

    def __init__(self, shown: Iterable[Mapping[str, Any]], originals: Iterable[Any]) -> None:
        self._remaining = list(zip(shown, originals, strict=True))

    def take(self, part: Any) -> Any:
        """Return the original of a part, once; `None` if hooks changed or wrote the part."""
        for index, (visible, original) in enumerate(self._remaining):
            if visible == part:
                del self._remaining[index]
                return original
        return None


def usage_metadata(usage: Any) -> dict[str, int]:
    """Return the token counts of an object of a framework in the stable form."""
    return {key: getattr(usage, name) for key, name in TOKEN_COUNTS.items()}


def is_tool_allowed(config: ToolConfig, *names: str) -> bool:
    """Return whether a choice of tools allows a tool that is known by any of some names."""
    if config.get("mode") == "NONE":
        return False
    allowed = config.get("allowedFunctionNames")
    return not allowed or any(name in allowed for name in names)

"""The types of the stable model API: requests and responses as hooks see them.

They are apart from `anyhook.model.llm`, which has them too, because `typing` costs a hook that an
agent starts on every event more than all that it needs of that module.

Source: Gemini CLI hooks reference, "Stable Model API".
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict


class GenerationConfig(TypedDict, total=False):
    """Sampling parameters; an override is merged member by member."""

    temperature: float
    maxOutputTokens: int
    topP: float
    topK: int


class ToolConfig(TypedDict, total=False):
    """Which tools the model may call."""

    mode: Literal["AUTO", "ANY", "NONE"]
    allowedFunctionNames: list[str]


class ModelMessage(TypedDict):
    """One turn; `content` is text, or a list of typed parts if there are non-text parts."""

    role: Literal["user", "model", "system"]
    content: str | list[dict[str, Any]]


class LLMRequest(TypedDict, total=False):
    """A request to the model."""

    model: str
    messages: list[ModelMessage]
    config: GenerationConfig
    toolConfig: ToolConfig


class Content(TypedDict, total=False):
    """What the model said; every part is text."""

    role: Literal["model"]
    parts: list[str]


class Candidate(TypedDict, total=False):
    """One answer of the model."""

    content: Content
    finishReason: Literal["STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER"]
    index: int
    safetyRatings: list[dict[str, Any]]


class LLMResponse(TypedDict, total=False):
    """A response of the model."""

    text: str
    candidates: list[Candidate]
    usageMetadata: dict[str, int]


NAMES = (
    "GenerationConfig",
    "ToolConfig",
    "ModelMessage",
    "LLMRequest",
    "Content",
    "Candidate",
    "LLMResponse",
)
"""The types that `anyhook.model.llm` has too."""

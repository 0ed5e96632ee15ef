"""Tables and helpers shared by the frameworks' translators to and from the stable model API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyhook.model.llm import ToolConfig

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


def changed_sampling(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sampling parameters that hooks changed, with the framework's names."""
    return {
        name: after[key]
        for key, name in SAMPLING.items()
        if key in after and after[key] != before.get(key)
    }


def usage_metadata(usage: Any) -> dict[str, int]:
    """Return the token counts of an object of a framework in the stable form."""
    return {key: getattr(usage, name) for key, name in TOKEN_COUNTS.items()}


def response_parts(response: Mapping[str, Any]) -> list[Any]:
    """Return the parts of a response's first candidate."""
    candidates = response.get("candidates") or [{}]
    content = candidates[0].get("content") or {}
    return list(content.get("parts") or [])


def is_tool_allowed(config: ToolConfig, *names: str) -> bool:
    """Return whether a choice of tools allows a tool that is known by any of some names."""
    if config.get("mode") == "NONE":
        return False
    allowed = config.get("allowedFunctionNames")
    return not allowed or any(name in allowed for name in names)

"""Scripted model servers, one module for each API that agents speak."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyhook.agents.entry import load_object

if TYPE_CHECKING:
    from anyhook.probe.models.server import ScriptedModel

MODELS = {
    "anthropic": "anyhook.probe.models.anthropic:AnthropicModel",
    "openai-chat": "anyhook.probe.models.openai:ChatModel",
    "openai-responses": "anyhook.probe.models.openai:ResponsesModel",
    "gemini": "anyhook.probe.models.gemini:GeminiModel",
}
"""Name of an API (`AgentProgram.api`) to its server, as `module:NAME`."""


def model_class(api: str) -> type[ScriptedModel]:
    """Return the server that plays the model of an API."""
    server: type[ScriptedModel] = load_object(MODELS[api])
    return server

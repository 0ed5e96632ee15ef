"""Scripted model servers, one module for each API that agents speak."""

from __future__ import annotations

MODELS = {
    "anthropic": "anyhook.probe.models.anthropic:AnthropicModel",
    "openai-chat": "anyhook.probe.models.openai:ChatModel",
    "openai-responses": "anyhook.probe.models.openai:ResponsesModel",
    "gemini": "anyhook.probe.models.gemini:GeminiModel",
}
"""Name of an API (`AgentProgram.api`) to its server, as `module:NAME`."""

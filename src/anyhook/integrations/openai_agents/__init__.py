"""Hooks in agents that are built with the OpenAI Agents SDK.

    result = await AnyhookRunner.load(".").run(agent, "hello")

`AnyhookRunner` replaces `agents.Runner`. It runs copies of the agents, whose models, tools and
handoffs let hooks decide; the program's agents are not changed, and results hold them.

Layers, from the top: `runner`, `turn`, `nested`, `copies`, then `models` (with `streams` and
`items`) next to `tools` (with `calls`), and `state`.
"""

from __future__ import annotations

from anyhook.extras import needs_extra

with needs_extra("anyhook.integrations.openai_agents", "the OpenAI Agents SDK", "openai-agents"):
    from anyhook.integrations.openai_agents.runner import AnyhookRunner as AnyhookRunner
    from anyhook.integrations.openai_agents.runner import HookedStream as HookedStream
    from anyhook.integrations.openai_agents.state import OPENAI_AGENTS as OPENAI_AGENTS
    from anyhook.integrations.openai_agents.turn import PromptDeniedError as PromptDeniedError

__all__ = ["OPENAI_AGENTS", "AnyhookRunner", "HookedStream", "PromptDeniedError"]

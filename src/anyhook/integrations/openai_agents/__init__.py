"""Hooks in agents that are built with the OpenAI Agents SDK.

    result = await AnyhookRunner.load(".").run(agent, "hello")

`AnyhookRunner` stands in for `agents.Runner`. Agents that take part in one of its runs, by handoff
and as tools too, get a class of their own that asks the session of the run they are in; in any
other run, and where there are no hooks, they are what they were.

Each module knows only those behind it: `runner`, `turn`, `agent`, then `models` (with `streams` and
`items`) beside `tools` (with `calls`), and `life`, which all of them share.
"""

from __future__ import annotations

from anyhook.integrations.openai_agents.life import OPENAI_AGENTS as OPENAI_AGENTS
from anyhook.integrations.openai_agents.runner import AnyhookRunner as AnyhookRunner
from anyhook.integrations.openai_agents.runner import HookedStream as HookedStream
from anyhook.integrations.openai_agents.turn import PromptDeniedError as PromptDeniedError

__all__ = ["OPENAI_AGENTS", "AnyhookRunner", "HookedStream", "PromptDeniedError"]

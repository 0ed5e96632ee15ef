"""Hooks in agents of Google ADK: `App(…, plugins=[AnyhookPlugin.load(project_dir)])`.

What a hook denies or stops reaches the program in the way that ADK reports errors of its models:
the run ends, without an exception, with an event that has an `error_code` (`HOOK_DENIED` or
`HOOK_STOPPED`) and the reason as its `error_message`. A denied tool call is answered with
`{"error": reason}`, and the agent continues. After a stop, every further run of that session ends
at once, for the same reason.

A session of hooks is a session of ADK. It starts with the first run of it that the plugin sees
(`resume` if it has events by then) and ends when the runner is closed (`async with Runner(…)`, or
`await runner.close()`), or with `AnyhookPlugin.end`; a session whose last run failed or was
cancelled ends for the reason `other`. An agent that is used as a tool (`AgentTool`) belongs to the
session of the agent that uses it: its models and tools are guarded, its task is not a prompt.
"""

from __future__ import annotations

from anyhook.extras import needs_extra

with needs_extra("anyhook.integrations.adk", "Google ADK", "adk"):
    from anyhook.integrations.adk.plugin import ADK as ADK
    from anyhook.integrations.adk.plugin import AnyhookPlugin as AnyhookPlugin
    from anyhook.integrations.adk.state import DENIED as DENIED
    from anyhook.integrations.adk.state import STOPPED as STOPPED

__all__ = ["ADK", "DENIED", "STOPPED", "AnyhookPlugin"]

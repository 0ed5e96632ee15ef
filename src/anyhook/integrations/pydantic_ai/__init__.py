"""Hooks in Pydantic AI: `Agent(model, capabilities=[AnyhookHooks.load()])`.

A run is a turn. It is a session of its own, too, with the identifier of its conversation, started
as `resume` if there is a history; runs inside `async with hooks.session()` share one.

What the program gets:

- `DeniedError` for a turn that hooks end without an answer (the prompt or the request to the model
  is denied, the response is discarded). It is one of `AgentRunError`. The history that was passed
  to the run is unchanged.
- `StoppedError` if a hook ends the agent (`continue: false`).
- A denied tool is a failed tool to the model, with the reason as its result.
"""

from __future__ import annotations

from anyhook.extras import needs_extra

with needs_extra("anyhook.integrations.pydantic_ai", "Pydantic AI", "pydantic-ai"):
    from anyhook.integrations.pydantic_ai.hooks import PYDANTIC_AI as PYDANTIC_AI
    from anyhook.integrations.pydantic_ai.hooks import AnyhookHooks as AnyhookHooks
    from anyhook.integrations.pydantic_ai.state import DeniedError as DeniedError

__all__ = ["PYDANTIC_AI", "AnyhookHooks", "DeniedError"]

"""Handoffs that let hooks decide whether another agent takes over."""

from __future__ import annotations

import copy
import inspect
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any

from anyhook.integrations.openai_agents.calls import (
    denial_text,
    format_arguments,
    parse_arguments,
)
from anyhook.integrations.openai_agents.state import current_session

if TYPE_CHECKING:
    from collections.abc import Callable

    from agents import Agent, Handoff, HandoffInputData
    from anyhook.integrations.openai_agents.state import SessionState

_denial: ContextVar[str | None] = ContextVar("anyhook_openai_agents_denial", default=None)
"""Why hooks denied the handoff that the current run carries out; `None` if they did not."""


def hook_handoff(
    state: SessionState,
    source: Agent[Any],
    original: Handoff[Any, Any],
    hook_agent: Callable[[SessionState, Agent[Any]], Agent[Any]],
) -> Handoff[Any, Any]:
    """Return a copy of a handoff that lets hooks decide.

    After a denial the same agent continues: the SDK runs the agent that the invocation returns, and
    the output of the call, the transfer message, is the reason.
    """

    async def invoke(context: Any, text: str) -> Any:
        _denial.set(None)
        hooked.nest_handoff_history = original.nest_handoff_history
        # A saved state of a run holds hooked handoffs; the program continued it without hooks.
        if current_session.get() is not None:
            run = await state.decide_handoff(original.tool_name, parse_arguments(text))
            if not run.allowed:
                _denial.set(denial_text(run))
                hooked.nest_handoff_history = False
                return source
            text = format_arguments(text, run.arguments)
        return hook_agent(state, await original.on_invoke_handoff(context, text))

    def transfer_message(agent: Any) -> str:
        denial = _denial.get()
        return original.get_transfer_message(agent) if denial is None else denial

    hooked = copy.copy(original)
    hooked.on_invoke_handoff = invoke
    # Assigned, because the handoff may be of a subclass.
    hooked.get_transfer_message = transfer_message  # type: ignore[method-assign]
    hooked.input_filter = hook_input_filter(original.input_filter)
    return hooked


def hook_input_filter(input_filter: Any) -> Any:
    """Return a filter of handoffs that leaves the conversation of a denied one as it is."""
    return None if input_filter is None else partial(_filter_input, input_filter)


async def _filter_input(input_filter: Any, data: HandoffInputData) -> Any:
    if _denial.get() is not None:
        return data
    filtered = input_filter(data)
    return await filtered if inspect.isawaitable(filtered) else filtered

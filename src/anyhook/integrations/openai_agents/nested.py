"""Runs that begin inside the tools of a run with hooks.

`agent.as_tool()` and tools of the program call `agents.Runner.run`, which has no other seam than
the SDK's default runner (`set_default_agent_runner`): such a tool is a closure over the program's
agent, and a run configuration cannot replace tools. So while a run with hooks is under way, the
default runner is one that runs copies of the agents if it is called inside of such a run; in any
other run it only delegates to the former one. Without it, a tool that runs an agent would bypass
every hook.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from agents.run import AgentRunner, get_default_agent_runner, set_default_agent_runner

from agents import RunConfig
from anyhook.integrations.openai_agents.copies import hook_agent, hook_run_state, restore_agents
from anyhook.integrations.openai_agents.models import hook_config
from anyhook.integrations.openai_agents.state import current_session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agents import Agent

_lock = threading.Lock()
_active_runs: list[None] = []
"""One item for each run with hooks under way in this process."""


class _JoiningRunner(AgentRunner):
    """Runs agents with the hooks of the run that the caller belongs to, if any."""

    def __init__(self, inner: AgentRunner) -> None:
        self.inner = inner

    async def run(self, starting_agent: Agent[Any], input: Any, **options: Any) -> Any:  # noqa: A002
        agent = _join(starting_agent, input, options)
        result = await self.inner.run(agent, input, **options)
        if agent is not starting_agent:
            restore_agents(result)
        return result

    def run_sync(self, starting_agent: Agent[Any], input: Any, **options: Any) -> Any:  # noqa: A002
        agent = _join(starting_agent, input, options)
        result = self.inner.run_sync(agent, input, **options)
        if agent is not starting_agent:
            restore_agents(result)
        return result

    def run_streamed(self, starting_agent: Agent[Any], input: Any, **options: Any) -> Any:  # noqa: A002
        agent = _join(starting_agent, input, options)
        return self.inner.run_streamed(agent, input, **options)


def _join(agent: Agent[Any], run_input: Any, options: dict[str, Any]) -> Agent[Any]:
    """Return the agent to run; the options are changed in place."""
    state = current_session.get()
    if state is None:
        return agent
    config = options.get("run_config")
    if not isinstance(config, RunConfig):
        config = RunConfig(**(config or {}))
    options["run_config"] = hook_config(state, config)
    hook_run_state(state, run_input)
    return hook_agent(state, agent)


@contextmanager
def nested_runs_join() -> Iterator[None]:
    """Let runs that begin inside of runs with hooks use these hooks, until the block ends."""
    with _lock:
        _active_runs.append(None)
        current = get_default_agent_runner()
        if not isinstance(current, _JoiningRunner):
            set_default_agent_runner(_JoiningRunner(current))
    try:
        yield
    finally:
        with _lock:
            _active_runs.pop()
            current = get_default_agent_runner()
            if not _active_runs and isinstance(current, _JoiningRunner):
                set_default_agent_runner(current.inner)

"""Agents that take part in a run: by being run, by handoff, and by runs inside of their tools."""

from __future__ import annotations

import copy
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from agents.run import AgentRunner, get_default_agent_runner, set_default_agent_runner

from agents import Agent, Handoff, RunConfig, RunState
from anyhook.integrations.openai_agents.life import living
from anyhook.integrations.openai_agents.models import configured, guarded_model
from anyhook.integrations.openai_agents.tools import guarded_tool, tell_hosted

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyhook.integrations.openai_agents.life import Life


class _Guards:
    """A field of an agent that shows something else while hooks look on."""

    def __init__(self, name: str, shown: Callable[[Life, Any], Any]) -> None:
        self.name = name
        self.shown = shown

    def __get__(self, agent: Any, owner: type) -> Any:
        if agent is None:
            return self
        value = agent.__dict__[self.name]
        life = living.get()
        return value if life is None else self.shown(life, value)

    def __set__(self, agent: Any, value: Any) -> None:
        agent.__dict__[self.name] = value


@cache
def _guarded_class(kind: Any) -> Any:
    """Return a class of agents that ask hooks; of one base, as only then an agent can take it."""

    async def get_all_tools(self: Any, run_context: Any) -> list[Any]:
        tools: list[Any] = await kind.get_all_tools(self, run_context)
        life = living.get()
        if life is None:
            return tools
        tell_hosted(life, tools)
        return [guarded_tool(life, tool) for tool in tools]

    members = {
        "model": _Guards("model", guarded_model),
        "handoffs": _Guards("handoffs", lambda _life, ways: [_guarded_handoff(h) for h in ways]),
        "get_all_tools": get_all_tools,
        "_anyhook": True,
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        "__doc__": kind.__doc__,
    }
    return type(kind.__name__, (kind,), members)


def meet(agent: Agent[Any], given: Any = None) -> Agent[Any]:
    """Give an agent its guarded class; agents that it hands over to follow when it does."""
    if not getattr(agent, "_anyhook", False):
        agent.__class__ = _guarded_class(cast("Any", type(agent)))
    if isinstance(given, RunState) and isinstance(given._current_agent, Agent):  # noqa: SLF001
        meet(given._current_agent)  # noqa: SLF001
    return agent


def _guarded_handoff(way: Any) -> Any:
    if not isinstance(way, Handoff):
        return meet(way)
    invoke = way.on_invoke_handoff

    async def handed(context: Any, arguments: str) -> Any:
        return meet(await invoke(context, arguments))

    guarded = copy.copy(way)
    guarded.on_invoke_handoff = handed
    return guarded


class _Nested:
    """The SDK's own runner; a run that a tool of a guarded run begins is guarded, too."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    async def run(self, agent: Any, given: Any, **options: Any) -> Any:
        return await self.inner.run(_joining(agent, given, options), given, **options)

    def run_sync(self, agent: Any, given: Any, **options: Any) -> Any:
        return self.inner.run_sync(_joining(agent, given, options), given, **options)

    def run_streamed(self, agent: Any, given: Any, **options: Any) -> Any:
        return self.inner.run_streamed(_joining(agent, given, options), given, **options)


def _joining(agent: Any, given: Any, options: dict[str, Any]) -> Any:
    life = living.get()
    if life is None:
        return agent
    config = options.get("run_config")
    if isinstance(config, RunConfig):
        options["run_config"] = configured(life, config)
    else:
        options["run_config"] = configured(life, RunConfig(**(config or {})))
    return meet(agent, given)


def install() -> None:
    """Let runs that begin inside of guarded ones join them."""
    current: Any = get_default_agent_runner()
    if not isinstance(current, _Nested):
        set_default_agent_runner(cast("AgentRunner", _Nested(current)))

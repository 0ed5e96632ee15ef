"""Calls that another middleware changes after hooks have decided them.

LangChain runs the wrappers of a call from the outside to the inside, so that those behind this one
may run another call: what a reviewer of `HumanInTheLoopMiddleware` wrote, for example.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import ToolMessage

from anyhook.integrations.langchain.messages import append_texts
from anyhook.integrations.langchain.waiting import run_without_loop
from anyhook.integrations.results import tag_context

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

    from anyhook.integrations.langchain.waiting import Wait
    from anyhook.integrations.results import ToolRun
    from anyhook.integrations.session import Session


@dataclass
class DecidedRequest(ToolCallRequest):
    """A call that hooks have decided. Of another call in its place they decide when it runs."""

    session: Session
    wait: Wait[Any]
    own_tool: BaseTool | None
    """The tool itself, where `tool` is a copy that asks hooks first."""

    def override(self, **overrides: Any) -> DecidedRequest:
        """Return the request with other fields; see `ToolCallRequest.override`."""
        changed = replace(self, **overrides)
        call, decided = changed.tool_call, self.tool_call
        is_same = (call["name"], call["args"]) == (decided["name"], decided["args"])
        tool = overrides.get("tool") or self.own_tool or self.tool
        if is_same or tool is None:
            return changed
        return replace(changed, tool=_asking_first(tool, changed), own_tool=tool)


def _asking_first(tool: BaseTool, request: DecidedRequest) -> BaseTool:
    """Return a copy of a tool that runs the call of a request only if hooks allow it."""
    name, call_id = request.tool_call["name"], request.tool_call["id"]
    arguments = request.tool_call["args"]

    async def decide() -> ToolRun:
        decided = request.session.before_tool(name, arguments, call_id=call_id)
        run: ToolRun = await request.wait(decided)
        return run

    def denied(run: ToolRun) -> ToolMessage:
        message = ToolMessage(run.reason, name=name, tool_call_id=call_id, status="error")
        return append_texts(message, map(tag_context, run.context))

    def allowed(call: dict[str, Any], run: ToolRun) -> dict[str, Any]:
        # LangGraph has added what it injects.
        injected = {key: value for key, value in call["args"].items() if key not in arguments}
        return {**call, "args": {**injected, **run.arguments}}

    def invoke(call: dict[str, Any], *args: Any, **options: Any) -> Any:
        run = run_without_loop(decide())
        return tool.invoke(allowed(call, run), *args, **options) if run.allowed else denied(run)

    async def ainvoke(call: dict[str, Any], *args: Any, **options: Any) -> Any:
        run = await decide()
        if not run.allowed:
            return denied(run)
        return await tool.ainvoke(allowed(call, run), *args, **options)

    copy = tool.model_copy()
    object.__setattr__(copy, "invoke", invoke)
    object.__setattr__(copy, "ainvoke", ainvoke)
    return copy

"""The calls of tools in agents of Google ADK."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from google.adk.agents.llm_agent import LlmAgent
from google.adk.tools.tool_confirmation import ToolConfirmation

from anyhook.errors import StoppedError
from anyhook.integrations.factory import ToolChain

if TYPE_CHECKING:
    from collections.abc import Collection

    from google.adk.agents.context import Context
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.tool_context import ToolContext

    from anyhook.integrations.session import Session


@dataclass(frozen=True, slots=True)
class _ToolResult:
    """What a tool returned: the answer for the model, with ADK's wrapping."""

    value: Any
    error: str | None = None
    """What went wrong; `None` if nothing did."""
    has_run: bool = True
    """Whether the tool ran at all."""


class ToolCalls:
    """Applies the decisions of hooks to calls of tools.

    ADK calls one plugin before a tool and another time after it, so what hooks said before is kept
    for the context of the call.
    """

    def __init__(self) -> None:
        self._context: WeakKeyDictionary[Context, tuple[str, ...]] = WeakKeyDictionary()
        self._answered: WeakKeyDictionary[Context, bool] = WeakKeyDictionary()

    async def before(
        self, session: Session, tool: BaseTool, arguments: dict[str, Any], context: ToolContext
    ) -> dict[str, Any] | None:
        """Report a call; the arguments are changed in place. Returns the answer of a denied one."""
        call_id = context.function_call_id
        try:
            run = await session.before_tool(tool.name, arguments, call_id=call_id)
        except StoppedError as error:
            return self.answer(context, {"error": error.reason})
        if not run.allowed:
            return self.answer(context, add_context({"error": run.reason}, run.context))
        if run.arguments != arguments:
            _replace_arguments(arguments, run.arguments)
        if run.approved and context.tool_confirmation is None:
            context.tool_confirmation = ToolConfirmation(confirmed=True)
        self._context[context] = run.context
        return None

    def answer(self, context: ToolContext, answer: dict[str, Any]) -> dict[str, Any]:
        """Answer a call without its tool; ADK reports this answer as the tool's afterwards."""
        self._answered[context] = True
        return answer

    def take_answered(self, context: ToolContext) -> bool:
        """Return, once, whether a call was answered without its tool."""
        return self._answered.pop(context, False)

    async def after(  # noqa: PLR0917 - one call, and what came of it
        self,
        session: Session,
        tool: BaseTool,
        arguments: dict[str, Any],
        context: ToolContext,
        value: Any,
        error: str | None,
    ) -> dict[str, Any] | None:
        """Report a result and run the tail calls of hooks; return `None` if nothing changes."""
        result = _ToolResult(value, error)
        texts: list[str] = []
        is_changed = False
        chain = ToolChain(session, tool.name, arguments, context.function_call_id)
        try:
            while True:
                texts += self._context.pop(context, ())
                output = result.value if result.error is None else result.error
                # ADK wraps values that are not objects.
                if isinstance(output, dict) and output.keys() == {"result"}:
                    output = output["result"]
                returned = await chain.after(chain.arguments, output, result.error)
                texts += returned.context
                if returned.replaced:
                    result, is_changed = _ToolResult({"result": returned.output}), True
                if not chain.go_on(returned):
                    break
                is_changed = True
                result = await self._run_tail_call(chain, context)
                if not result.has_run:
                    break
        except StoppedError as stop:
            return {"error": stop.reason}
        return add_context(result.value, texts) if is_changed or texts else None

    async def _run_tail_call(self, chain: ToolChain, context: ToolContext) -> _ToolResult:
        name, arguments = chain.name, chain.arguments
        run = await chain.before()
        if not run.allowed:
            answer = add_context({"error": run.reason}, run.context)
            return _ToolResult(answer, run.reason, has_run=False)
        agent = context.get_invocation_context().agent
        tools = await agent.canonical_tools(context) if isinstance(agent, LlmAgent) else []
        tool = next((tool for tool in tools if tool.name == name), None)
        if tool is None:
            return _ToolResult({"error": f"this agent has no tool {name!r}"}, has_run=False)
        _replace_arguments(arguments, run.arguments)
        if not run.approved and await tool.check_require_confirmation(arguments, context):
            text = f"{name} was not run: it needs the user's confirmation"
            return _ToolResult({"error": text}, has_run=False)
        self._context[context] = run.context
        try:
            value = await tool.run_async(args=arguments, tool_context=context)
        except Exception as error:  # noqa: BLE001 - the model gets any failure as a result
            return _ToolResult({"error": str(error)}, str(error))
        return _ToolResult(value, tool_error(value))


def _replace_arguments(arguments: dict[str, Any], new_arguments: dict[str, Any]) -> None:
    arguments.clear()
    arguments.update(new_arguments)


def is_waiting(tool: BaseTool, context: ToolContext, result: Any) -> bool:
    """Return whether a call has not returned yet: it waits for its user, or runs on."""
    actions = context.actions
    requests = {**actions.requested_tool_confirmations, **actions.requested_auth_configs}
    return context.function_call_id in requests or (tool.is_long_running and not result)


def tool_error(result: Any) -> str | None:
    """Return the error in a result of ADK's own tools, or of a tool of an MCP server."""
    if not isinstance(result, dict):
        return None
    if result.keys() == {"error"}:
        return str(result["error"])
    return str(result.get("content")) if result.get("isError") is True else None


def add_context(result: Any, context: Collection[str]) -> dict[str, Any]:
    """Return a result with the texts of hooks next to it."""
    answer = result if isinstance(result, dict) else {"result": result}
    return {**answer, "hook_context": "\n\n".join(context)} if context else answer

"""The tools and output functions of an agent, with hooks before and after each call."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, TypeAdapter
from pydantic_ai import ApprovalRequired, CallDeferred, ModelRetry, ToolFailed, ToolReturn
from pydantic_ai.exceptions import SkipToolExecution
from pydantic_ai.toolsets import WrapperToolset
from pydantic_core import ValidationError

from anyhook.integrations.factory import ToolChain
from anyhook.integrations.host_tools import result_text
from anyhook.integrations.pydantic_ai.messages import to_json
from anyhook.integrations.results import join_context, tag_context

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from pydantic_ai import RunContext
    from pydantic_ai.output import OutputContext
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool

    from anyhook.integrations.pydantic_ai.state import RunState
    from anyhook.integrations.results import ToolReturn as HookedReturn


NOT_RUN = (ApprovalRequired, CallDeferred, SkipToolExecution)
"""Raised by tools that have not run yet, as opposed to failed."""


@dataclass
class HookedTools(WrapperToolset[Any]):
    """A toolset whose calls hooks decide."""

    run: RunState

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """Return the tools, after the session has checked those that run in this process."""
        tools = await super().get_tools(ctx)
        definitions = {name: tool.tool_def for name, tool in tools.items()}
        local = [name for name, tool in definitions.items() if tool.kind != "external"]

        def arguments_of(name: str) -> list[str]:
            return list(definitions[name].parameters_json_schema.get("properties") or ())

        self.run.session.tool_checks.offer(local, arguments_of)
        return tools

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """Call a tool, unless hooks deny it."""
        call = _HookedCall(self.run, self.wrapped, ctx)
        return await call.run(name, tool_args, tool)


class _HookedCall:
    """One call of a tool, with the tail calls that hooks add."""

    def __init__(
        self,
        run: RunState,
        toolset: AbstractToolset[Any],
        ctx: RunContext[Any],
    ) -> None:
        self._session = run.session
        self._pending = run.pending
        self._toolset = toolset
        self._ctx = ctx
        self._context: tuple[str, ...] = ()

    async def run(self, name: str, arguments: dict[str, Any], tool: ToolsetTool[Any]) -> Any:
        call_id = self._ctx.tool_call_id
        chain = ToolChain(self._session, name, arguments, call_id)
        while True:
            name = chain.name
            visible = chain.arguments = to_json(arguments)
            run = self._pending.pop((call_id, name), None)
            if run is None:
                run = await chain.before()
            self._context += run.context
            if not run.allowed:
                raise ToolFailed(self._with_context(run.reason))
            if run.arguments != visible:
                new_arguments = merge_arguments(arguments, visible, run.arguments)
                arguments = await self._validate(name, new_arguments, tool)
            result, failure = None, None
            try:
                result = await self._toolset.call_tool(name, arguments, self._ctx, tool)
            except NOT_RUN:
                self._pending[call_id, name] = run
                raise
            except Exception as error:  # noqa: BLE001 - raised again when hooks have seen it
                failure = error
            problem = None if failure is None else str(failure)
            output = to_json(_visible_output(result)) if problem is None else problem
            returned = await chain.after(run.arguments, output, problem)
            self._context += returned.context
            if not chain.go_on(returned):
                break
            tail_tool = (await self._toolset.get_tools(self._ctx)).get(chain.name)
            if tail_tool is None:
                text = f"a hook called {chain.name!r}, which is not a tool of this agent"
                raise ToolFailed(self._with_context(text))
            tool = tail_tool
            arguments = await self._validate(chain.name, chain.arguments, tool)
        if failure is not None:
            # A failure that the model sees gets what hooks add.
            is_changed = returned.replaced or bool(self._context)
            if is_changed and isinstance(failure, ModelRetry | ToolFailed):
                raise type(failure)(self._with_context(result_text(returned.output)))
            raise failure
        return self._result(result, returned)

    async def _validate(
        self, name: str, arguments: dict[str, Any], tool: ToolsetTool[Any]
    ) -> dict[str, Any]:
        """Validate arguments of hooks in the way those of the model are validated."""
        context = self._ctx.validation_context
        try:
            valid: dict[str, Any] = tool.args_validator.validate_python(arguments, context=context)
        except ValidationError as error:
            text = f"the arguments that a hook gave {name} are not valid: {error}"
            raise ToolFailed(self._with_context(text)) from error
        if tool.args_validator_func is not None:
            result = tool.args_validator_func(self._ctx, **valid)
            if inspect.isawaitable(result):
                await result
        return valid

    def _with_context(self, text: str) -> str:
        return join_context(text, self._context)

    def _result(self, result: Any, returned: HookedReturn) -> Any:
        """Return the result with what hooks replace and add."""
        # Content and metadata next to the result may repeat what hooks replaced.
        if returned.replaced:
            result = returned.output
        if not self._context:
            return result
        if isinstance(result, str):
            return self._with_context(result)
        if not isinstance(result, ToolReturn):
            result = ToolReturn(result)
        content = result.content or ()
        parts = (content,) if isinstance(content, str) else content
        return replace(result, content=[*parts, *map(tag_context, self._context)])


def merge_arguments(
    arguments: dict[str, Any], visible: dict[str, Any], changed_arguments: dict[str, Any]
) -> dict[str, Any]:
    """Apply the changes of hooks; arguments that they left alone stay the program's objects."""
    kept = {key: value for key, value in arguments.items() if key in changed_arguments}
    changed = {
        key: value
        for key, value in changed_arguments.items()
        if key not in visible or visible[key] != value
    }
    return {**kept, **changed}


def _visible_output(result: Any) -> Any:
    """Return what hooks see of a result; content for the model next to it is part of it."""
    if not isinstance(result, ToolReturn):
        return result
    if not result.content:
        return result.return_value
    return {"return_value": result.return_value, "content": result.content}


TEXT = "text"
"""The argument of a function that gets the model's text, as hooks see it."""


async def call_output_function(
    run: RunState,
    ctx: RunContext[Any],
    context: OutputContext,
    output: Any,
    handler: Callable[[Any], Awaitable[Any]],
) -> Any:
    """Call an output function, unless hooks deny it, as a tool of its name.

    The output of the model is a dictionary of arguments, the only argument, or a text.

    Raises:
        ModelRetry: If hooks deny it: the model gets the reason, as it does when the function
            itself refuses; the retries for outputs are those of the agent.
        DeniedError: If hooks hide a result that is not a text, so that no text can replace it.
    """
    if ctx.partial_output:
        raise ModelRetry("the function runs when its arguments are complete")
    call = context.tool_call
    name = context.function_name or (call.tool_name if call is not None else TEXT)
    if call is not None and run.session.tools.is_declared(call.tool_name):
        name = call.tool_name  # what the program calls it, and names in `tools=`
    visible = {TEXT: output} if call is None else to_json(call.args_as_dict())
    call_id = None if call is None else call.tool_call_id
    decided = await run.session.before_tool(name, visible, call_id=call_id)
    if not decided.allowed:
        raise ModelRetry(join_context(decided.reason, decided.context))
    if decided.arguments != visible:
        output = _changed_output(output, visible, decided.arguments)
    try:
        result = await handler(output)
    except Exception as error:
        text = str(error) or type(error).__name__
        await run.session.after_tool(name, decided.arguments, text, error=text, call_id=call_id)
        raise
    returned = await run.session.after_tool(
        name, decided.arguments, to_json(result), call_id=call_id
    )
    # The turn ends here, so no model gets these texts.
    for text in (*decided.context, *returned.context):
        run.session.messages.send(text)
    if not returned.replaced:
        return result
    if not isinstance(result, str):
        run.end_turn(result_text(returned.output))
    return str(returned.output)


def _changed_output(output: Any, visible: dict[str, Any], arguments: dict[str, Any]) -> Any:
    """Return what the function gets, with the arguments that hooks want."""
    if isinstance(output, dict):
        return merge_arguments(output, visible, arguments)
    if isinstance(output, BaseModel):
        return type(output).model_validate(arguments)
    if arguments.keys() != visible.keys():
        raise ModelRetry(f"a hook gave other arguments: {', '.join(arguments) or 'none'}")
    (value,) = arguments.values()
    return TypeAdapter(type(output)).validate_python(value)

"""Functions that make the output of an agent: they run without being tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, TypeAdapter
from pydantic_ai import ModelRetry

from anyhook.integrations.host_tools import text_of
from anyhook.integrations.pydantic_ai.messages import to_json
from anyhook.integrations.pydantic_ai.tools import merge_arguments
from anyhook.integrations.results import join_context

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from pydantic_ai import RunContext
    from pydantic_ai.output import OutputContext

    from anyhook.integrations.pydantic_ai.state import RunState

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
        run.end_turn(text_of(returned.output))
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

"""One tool call: the decisions of hooks before and after it, and the tail calls that they add."""

from __future__ import annotations

import copy
import inspect
import json
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from agents.editor import ApplyPatchResult
from agents.tool import (
    default_tool_timeout_error_message,
    invoke_function_tool,
    maybe_invoke_function_tool_failure_error_function,
    set_function_tool_failure_error_function,
)
from agents.tool_context import ToolContext
from pydantic import BaseModel

from agents import ShellResult, ToolOutputFileContent, ToolOutputImage, ToolOutputText
from anyhook.integrations.factory import ToolChain
from anyhook.integrations.openai_agents.state import current_session
from anyhook.integrations.results import join_context, tag_context
from anyhook.model.json import parse_event

if TYPE_CHECKING:
    from agents import FunctionTool
    from anyhook.integrations.results import ToolRun

STRUCTURED_OUTPUTS = (ToolOutputText, ToolOutputImage, ToolOutputFileContent)

_failures: ContextVar[list[str] | None] = ContextVar("anyhook_openai_agents_failures", default=None)
"""Collects failures of the running tool that the SDK turns into results."""


@dataclass
class FunctionResult:
    """What a tool returned."""

    output: Any
    error: str | None = None
    """What went wrong; `None` if nothing did."""
    exception: Exception | None = None
    """What the tool raised, if that ends the run."""


Invoke = Callable[[dict[str, Any]], Awaitable[FunctionResult]]
"""Runs a tool with the arguments that hooks leave."""


@dataclass
class CallOutput:
    """What the model gets for a tool call."""

    output: Any
    """The tool's own output, or a text that replaces it."""
    texts: tuple[str, ...] = ()
    """What hooks add."""
    replaced: bool = False
    """Whether `output` is not the tool's own."""

    @property
    def full_output(self) -> Any:
        """The output followed by the texts; the tool's own object if there are none."""
        if not self.texts:
            return self.output
        outputs = self.output if isinstance(self.output, list) else [self.output]
        if all(isinstance(output, STRUCTURED_OUTPUTS) for output in outputs):
            return [*outputs, ToolOutputText(text="\n\n".join(self.texts))]
        return "\n\n".join((str(self.output), *self.texts))


async def call_tool(
    tool: Any,
    arguments: dict[str, Any],
    invoke: Invoke,
    call_id: str,
    context: Any,
    *,
    name: str | None = None,
) -> CallOutput:
    """Call a tool, by default under its name for hooks, and the tail calls of hooks."""
    state = current_session.get()
    # A saved state of a run holds hooked tools; the program continued it without hooks.
    if state is None:
        result = await invoke(arguments)
        if result.exception is not None:
            raise result.exception
        return CallOutput(result.output)
    name = name or state.host_name(tool)
    run = await state.decide(name, arguments, call_id)
    state.decided.pop((call_id, name), None)
    chain = ToolChain(state.session, name, arguments, call_id)
    while True:
        if not run.allowed:
            return CallOutput(denial_text(run), replaced=True)
        result = await invoke(run.arguments)
        returned = await chain.after(run.arguments, to_json(result.output), result.error)
        if not chain.go_on(returned):
            break
        tail_tool = state.function_tools.get(chain.name)
        if tail_tool is None:
            invoke = partial(_report_missing_tool, chain.name)
        else:
            text = json.dumps(chain.arguments)
            tail_context = _tool_context(context, tail_tool.name, call_id, text)
            invoke = partial(run_function_tool, recording_failures(tail_tool), tail_context, text)
            chain.name = state.host_name(tail_tool)
        run = await chain.before()
    if result.exception is not None:
        raise result.exception
    texts = tuple(map(tag_context, (*run.context, *returned.context)))
    output = returned.output if returned.replaced else result.output
    return CallOutput(output, texts, replaced=returned.replaced or chain.requested is not None)


async def _report_missing_tool(name: str, _arguments: dict[str, Any]) -> FunctionResult:
    text = f"there is no tool {name} to run in place of the result"
    return FunctionResult(text, error=text)


def denial_text(run: ToolRun) -> str:
    """Return what the model gets as the result of a denied call."""
    return join_context(run.reason, run.context)


def to_json(output: Any) -> Any:
    """Return what a tool returned as JSON, or as its text."""
    if isinstance(output, BaseModel):
        return output.model_dump(mode="json")
    if isinstance(output, list):
        return [to_json(item) for item in output]
    if isinstance(output, ShellResult):
        texts: list[str] = []
        for command in output.output:
            texts += (command.stdout, command.stderr)
        return "\n".join(filter(None, texts))
    if isinstance(output, ApplyPatchResult):
        return output.output or ""
    return "" if output is None else output


def parse_arguments(text: str) -> dict[str, Any]:
    """Parse the arguments of a call; a text that is not an object is shown as `input`."""
    try:
        arguments = parse_event(text)[0] if text else {}
    except ValueError:
        arguments = None
    return arguments if isinstance(arguments, dict) else {"input": text}


def format_arguments(text: str, arguments: dict[str, Any]) -> str:
    """Return arguments as text; the very text that they were parsed from if they are the same."""
    original = parse_arguments(text)
    if arguments == original:
        return text
    if original == {"input": text}:
        return str(arguments.get("input", ""))
    return json.dumps(arguments, ensure_ascii=False)


def _tool_context(context: Any, name: str, call_id: str, arguments: str) -> ToolContext[Any]:
    if isinstance(context, ToolContext):
        changed = copy.copy(context)
        changed.tool_name, changed.tool_arguments = name, arguments
        return changed
    return ToolContext(context.context, context.usage, name, call_id, arguments)


def error_text(error: BaseException) -> str:
    """Return the text of an exception; the name of its class if it has none."""
    return str(error) or type(error).__name__


def recording_failures(tool: FunctionTool) -> FunctionTool:
    """Return a copy that records failures which the SDK turns into results."""

    def record(error: BaseException) -> None:
        failures = _failures.get()
        if failures is not None:
            failures.append(error_text(error))

    async def handle_failure(context: Any, error: Exception) -> Any:
        record(error)
        return await maybe_invoke_function_tool_failure_error_function(
            function_tool=tool, context=context, error=error
        )

    async def handle_timeout(context: Any, error: Exception) -> str:
        record(error)
        formatter = tool.timeout_error_function
        if formatter is None:
            return default_tool_timeout_error_message(
                tool_name=tool.name, timeout_seconds=tool.timeout_seconds or 0.0
            )
        text = formatter(context, error)
        return await text if inspect.isawaitable(text) else text

    recording = copy.copy(tool)
    set_function_tool_failure_error_function(recording, handle_failure)
    if recording.timeout_seconds is not None:
        recording.timeout_error_function = handle_timeout
    return recording


async def run_function_tool(
    tool: FunctionTool, context: Any, text: str, arguments: dict[str, Any]
) -> FunctionResult:
    """Run a copy that `recording_failures` made, with the arguments that hooks leave."""
    new_text = format_arguments(text, arguments)
    if new_text is not text:
        context = _tool_context(context, context.tool_name, context.tool_call_id, new_text)
    failures: list[str] = []
    token = _failures.set(failures)
    try:
        output = await invoke_function_tool(function_tool=tool, context=context, arguments=new_text)
    except Exception as error:  # noqa: BLE001 - raised again when hooks have seen it
        return FunctionResult(str(error), error_text(error), error)
    finally:
        _failures.reset(token)
    return FunctionResult(output, failures[-1] if failures else None)

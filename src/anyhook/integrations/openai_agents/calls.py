"""One tool call: what hooks make of it, what they run in its place, and what the model gets."""

from __future__ import annotations

import copy
import inspect
import json
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
from anyhook.integrations.session import in_tags
from anyhook.model.json import parse_event

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from agents import FunctionTool
    from anyhook.integrations.openai_agents.life import Life
    from anyhook.integrations.session import ToolReturn, ToolRun

STRUCTURED = (ToolOutputText, ToolOutputImage, ToolOutputFileContent)
TAILS = 8
"""How many tools hooks may run in place of one result."""

_failure: ContextVar[list[str] | None] = ContextVar("anyhook_openai_failure", default=None)


@dataclass
class Done:
    """What a tool returned: `error` if it failed, `raised` if that is to end the run."""

    output: Any
    error: str | None = None
    raised: Exception | None = None


@dataclass
class Use:
    """A tool call in the host's words."""

    name: str
    arguments: dict[str, Any]
    invoke: Callable[[dict[str, Any]], Awaitable[Done]]


@dataclass
class Result:
    """What the model gets for a tool call.

    Attributes:
        output: The tool's own output, or a text in its place.
        texts: What hooks add.
        replaced: Whether `output` is not the tool's own.
    """

    output: Any
    texts: tuple[str, ...] = ()
    replaced: bool = False

    @classmethod
    def of(cls, run: ToolRun, back: ToolReturn, done: Done, *, tailed: bool) -> Result:
        """Put together what hooks said before and after, and what the tool returned."""
        texts = tuple(map(in_tags, (*run.context, *back.context)))
        output = back.output if back.replaced else done.output
        return cls(output, texts, back.replaced or tailed)

    @property
    def whole(self) -> Any:
        """The output with the texts; the tool's own object if there are none."""
        if not self.texts:
            return self.output
        many = self.output if isinstance(self.output, list) else [self.output]
        if all(isinstance(one, STRUCTURED) for one in many):
            return [*many, ToolOutputText(text="\n\n".join(self.texts))]
        own = self.output if isinstance(self.output, str) else str(self.output)
        return "\n\n".join((own, *self.texts))


async def use_tool(life: Life, use: Use, call_id: str, context: Any) -> Result:
    """Run a tool, and what hooks run in its place."""
    requested: str | None = None
    run = await life.judge(use.name, use.arguments, call_id)
    life.judged.pop((call_id, use.name), None)
    for _ in range(TAILS):
        if not run.runs:
            return Result(denial(run), replaced=True)
        done = await use.invoke(run.arguments)
        back = await life.session.after_tool(
            use.name,
            run.arguments,
            plain(done.output),
            error=done.error,
            call_id=call_id,
            requested=requested,
        )
        if back.tail is None:
            break
        requested = requested or use.name
        use = _tail(life, *back.tail, context, call_id)
        run = await life.session.before_tool(
            use.name, use.arguments, call_id=call_id, requested=requested
        )
    if done.raised is not None:
        raise done.raised
    return Result.of(run, back, done, tailed=requested is not None)


def _tail(life: Life, name: str, arguments: dict[str, Any], context: Any, call_id: str) -> Use:
    tool = life.tools.get(name)

    async def missing(_arguments: dict[str, Any]) -> Done:
        text = f"there is no tool {name} that could run in its place"
        return Done(text, error=text)

    if tool is None:
        return Use(name, arguments, missing)
    text = json.dumps(arguments)
    inner = _context(context, tool.name, call_id, text)
    return Use(life.told(tool), arguments, partial(run_function, recording(tool), inner, text))


# -- what is shown of calls


def denial(run: ToolRun) -> str:
    """Return what the model gets in place of a result."""
    return "\n\n".join((run.reason, *map(in_tags, run.context)))


def plain(output: Any) -> Any:
    """Show what a tool returned as JSON, or as its text."""
    if isinstance(output, BaseModel):
        return output.model_dump(mode="json")
    if isinstance(output, list):
        return [plain(one) for one in output]
    if isinstance(output, ShellResult):
        return "\n".join(text for one in output.output for text in (one.stdout, one.stderr) if text)
    if isinstance(output, ApplyPatchResult):
        return output.output or ""
    return "" if output is None else output


def arguments_of(text: str) -> dict[str, Any]:
    """Read the arguments of a call; what is no object is shown as it is."""
    try:
        parsed = parse_event(text)[0] if text else {}
    except ValueError:
        parsed = None
    return parsed if isinstance(parsed, dict) else {"input": text}


def _written(text: str, arguments: dict[str, Any]) -> str:
    before = arguments_of(text)
    if arguments == before:
        return text
    if before == {"input": text}:
        return str(arguments.get("input", ""))
    return json.dumps(arguments, ensure_ascii=False)


def _context(context: Any, name: str, call_id: str, text: str) -> ToolContext[Any]:
    if isinstance(context, ToolContext):
        changed = copy.copy(context)
        changed.tool_name, changed.tool_arguments = name, text
        return changed
    return ToolContext(context.context, context.usage, name, call_id, text)


# -- function tools


def recording(tool: FunctionTool) -> FunctionTool:
    """Return a copy that tells of failures which the SDK turns into results."""

    def note(error: BaseException) -> None:
        noted = _failure.get()
        if noted is not None:
            noted.append(str(error) or type(error).__name__)

    async def failed(context: Any, error: Exception) -> Any:
        note(error)
        return await maybe_invoke_function_tool_failure_error_function(
            function_tool=tool, context=context, error=error
        )

    async def late(context: Any, error: Exception) -> str:
        note(error)
        formatter = tool.timeout_error_function
        if formatter is None:
            return default_tool_timeout_error_message(
                tool_name=tool.name, timeout_seconds=tool.timeout_seconds or 0.0
            )
        text = formatter(context, error)
        return await text if inspect.isawaitable(text) else text

    inner = copy.copy(tool)
    set_function_tool_failure_error_function(inner, failed)
    if inner.timeout_seconds is not None:
        inner.timeout_error_function = late
    return inner


async def run_function(
    inner: FunctionTool, context: Any, text: str, arguments: dict[str, Any]
) -> Done:
    """Run a copy that `recording` made, with the arguments that hooks leave."""
    noted: list[str] = []
    written = _written(text, arguments)
    if written is not text:
        context = _context(context, context.tool_name, context.tool_call_id, written)
    token = _failure.set(noted)
    try:
        output = await invoke_function_tool(function_tool=inner, context=context, arguments=written)
    except Exception as error:  # noqa: BLE001 - a failing tool is told, and then raised
        return Done(str(error), error=str(error) or type(error).__name__, raised=error)
    finally:
        _failure.reset(token)
    return Done(output, error=noted[-1] if noted else None)

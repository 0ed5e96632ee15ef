"""Tools of agents that ask hooks before they run, by the kinds that this process runs."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import json
import shlex
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from agents.editor import ApplyPatchOperation, ApplyPatchResult
from agents.tool import invoke_function_tool
from agents.util._approvals import evaluate_function_tool_approval

from agents import (
    ApplyPatchTool,
    CodeInterpreterTool,
    ComputerTool,
    CustomTool,
    FileSearchTool,
    FunctionTool,
    HostedMCPTool,
    ImageGenerationTool,
    LocalShellTool,
    ShellCommandOutput,
    ShellResult,
    ShellTool,
    ToolGuardrailFunctionOutput,
    ToolInputGuardrail,
    ToolOutputGuardrail,
    WebSearchTool,
)
from anyhook.integrations.frameworks import missing_for
from anyhook.integrations.host_tools import text_of
from anyhook.integrations.openai_agents.calls import (
    Done,
    Use,
    arguments_of,
    denial,
    plain,
    recording,
    run_function,
    use_tool,
)
from anyhook.integrations.openai_agents.life import OPENAI_AGENTS, living

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agents.tool_context import ToolContext

    from anyhook.integrations.openai_agents.life import Life

HOSTED = (
    CodeInterpreterTool,
    ComputerTool,
    FileSearchTool,
    HostedMCPTool,
    ImageGenerationTool,
    WebSearchTool,
)


def guarded_tool(life: Life, tool: Any) -> Any:
    """Return a tool that asks hooks; one that runs elsewhere stays as it is."""
    if life.quiet or getattr(tool, "_anyhook", False):
        return tool
    known = life.guarded.get(id(tool))
    if known is None:
        known = life.guarded[id(tool)] = (tool, _guard(life, tool))
    return known[1]


def _guard(life: Life, tool: Any) -> Any:
    if isinstance(tool, FunctionTool):
        life.tools[tool.name] = life.tools[life.told(tool)] = tool
    guard = next((make for kind, make in GUARDS.items() if isinstance(tool, kind)), None)
    if guard is None or _is_hosted(tool):
        return tool
    guarded = guard(tool)
    guarded._anyhook = True  # noqa: SLF001
    return guarded


def tell_hosted(life: Life, tools: Iterable[Any]) -> None:
    """Tell, once, that tools that hooks look for run where nobody can look."""
    if life.told_hosted or not any(_is_hosted(tool) for tool in tools):
        return
    life.told_hosted = True
    for text in missing_for(OPENAI_AGENTS, life.session.engine):
        life.session.messages.send(text)


def _is_hosted(tool: Any) -> bool:
    return isinstance(tool, HOSTED) or (isinstance(tool, ShellTool) and tool.executor is None)


# -- function tools


class _Text(str):
    """A text in place of what a tool with a schema for its output returned."""

    __slots__ = ()


def _guard_function(tool: FunctionTool) -> FunctionTool:
    inner = recording(tool)

    async def invoked(context: ToolContext[Any], text: str) -> Any:
        life = living.get()
        if life is None:
            return await invoke_function_tool(function_tool=tool, context=context, arguments=text)
        use = Use(life.told(tool), arguments_of(text), partial(run_function, inner, context, text))
        result = await use_tool(life, use, context.tool_call_id, context)
        schema = tool.output_json_schema is not None and (result.replaced or result.texts)
        return _Text(result.whole) if schema else result.whole

    async def checked(data: Any) -> ToolGuardrailFunctionOutput:
        life, context = living.get(), data.context
        if life is None:
            return ToolGuardrailFunctionOutput.allow()
        name, call_id = life.told(tool), context.tool_call_id
        run = await life.judge(name, arguments_of(context.tool_arguments), call_id)
        if run.runs:
            return ToolGuardrailFunctionOutput.allow()
        del life.judged[call_id, name]
        return ToolGuardrailFunctionOutput.reject_content(denial(run))

    async def approves(context: Any, arguments: dict[str, Any], call_id: str) -> bool:
        life = living.get()
        if life is not None:
            run = await life.judge(life.told(tool), arguments, call_id)
            if run.approved or not run.runs:
                return False
            arguments = run.arguments
        text = json.dumps(arguments)
        judged = await evaluate_function_tool_approval(tool, context, text, call_id)
        return judged.outcome == "require_approval"

    outer = copy.copy(tool)
    outer.on_invoke_tool = invoked
    outer.timeout_seconds = None  # it is the tool's; hooks and users take their time
    before: ToolInputGuardrail[Any] = ToolInputGuardrail(checked, name="anyhook")
    outer.tool_input_guardrails = [*(tool.tool_input_guardrails or ()), before]
    if tool.output_json_schema is not None:
        after: ToolOutputGuardrail[Any] = ToolOutputGuardrail(_let_text_pass, name="anyhook")
        outer.tool_output_guardrails = [*(tool.tool_output_guardrails or ()), after]
    if tool.needs_approval is not False:
        outer.needs_approval = approves
    return outer


def _let_text_pass(data: Any) -> ToolGuardrailFunctionOutput:
    """Let a hook's text take the place of an output that has a schema."""
    if isinstance(data.output, _Text):
        return ToolGuardrailFunctionOutput.reject_content(str(data.output))
    return ToolGuardrailFunctionOutput.allow()


# -- tools that the SDK knows and this process runs


async def _run(function: Callable[..., Any], *given: Any) -> Done:
    try:
        output = function(*given)
        return Done(await output if inspect.isawaitable(output) else output)
    except Exception as error:  # noqa: BLE001 - a failing tool is told, and then raised
        return Done(str(error), error=str(error) or type(error).__name__, raised=error)


def _guard_custom(tool: CustomTool) -> CustomTool:
    async def invoked(context: ToolContext[Any], text: str) -> Any:
        async def invoke(arguments: dict[str, Any]) -> Done:
            return await _run(tool.on_invoke_tool, context, str(arguments.get("input", "")))

        life = living.get()
        if life is None:
            return (await invoke({"input": text})).output
        use = Use(tool.name, {"input": text}, invoke)
        return (await use_tool(life, use, context.tool_call_id, context)).whole

    guarded = copy.copy(tool)
    guarded.on_invoke_tool = invoked
    return guarded


def _guard_shell(tool: ShellTool) -> ShellTool:
    executor = cast("Callable[..., Any]", tool.executor)

    async def executed(request: Any) -> Any:
        action = request.data.action
        command = "\n".join(action.commands)

        async def invoke(arguments: dict[str, Any]) -> Done:
            wanted = arguments.get("command")
            if wanted == command:
                return await _run(executor, request)
            changed = dataclasses.replace(action, commands=[str(wanted)])
            data = dataclasses.replace(request.data, action=changed)
            return await _run(executor, dataclasses.replace(request, data=data))

        life = living.get()
        if life is None:
            return (await invoke({"command": command})).output
        use = Use(tool.name, {"command": command}, invoke)
        result = await use_tool(life, use, request.data.call_id, request.ctx_wrapper)
        if result.texts and isinstance(result.output, ShellResult):
            added = [ShellCommandOutput(stdout=text) for text in result.texts]
            return dataclasses.replace(result.output, output=[*result.output.output, *added])
        return result.whole

    guarded = copy.copy(tool)
    guarded.executor = executed
    return guarded


def _guard_local_shell(tool: LocalShellTool) -> LocalShellTool:
    async def executed(request: Any) -> Any:
        action = request.data.action
        command = shlex.join(action.command)

        async def invoke(arguments: dict[str, Any]) -> Done:
            wanted = arguments.get("command")
            if wanted == command:
                return await _run(tool.executor, request)
            changed = action.model_copy(update={"command": shlex.split(str(wanted))})
            data = request.data.model_copy(update={"action": changed})
            return await _run(tool.executor, dataclasses.replace(request, data=data))

        life = living.get()
        if life is None:
            return (await invoke({"command": command})).output
        use = Use(life.told(tool), {"command": command}, invoke)
        return (await use_tool(life, use, request.data.call_id, request.ctx_wrapper)).whole

    guarded = copy.copy(tool)
    guarded.executor = executed
    return guarded


# -- patches


EDITS = {
    "create_file": ("write_file", "content"),
    "update_file": ("edit_file", "diff"),
    "delete_file": ("delete_file", "diff"),
}
"""Operation of a patch to the tool that hooks are told of, and what they call its text."""


class _Editor:
    """An editor of patches that asks hooks."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["inner"], name)

    async def create_file(self, operation: ApplyPatchOperation) -> Any:
        return await self._edit(operation)

    async def update_file(self, operation: ApplyPatchOperation) -> Any:
        return await self._edit(operation)

    async def delete_file(self, operation: ApplyPatchOperation) -> Any:
        return await self._edit(operation)

    async def _edit(self, operation: ApplyPatchOperation) -> Any:
        apply = getattr(self.inner, operation.type)
        life = living.get()
        if life is None:
            return await _awaited(apply(operation))
        name, key = EDITS[operation.type]
        shown = {"file_path": operation.path}
        if operation.diff is not None:
            shown[key] = _content(operation)

        async def invoke(arguments: dict[str, Any]) -> Done:
            return await _run(apply, _changed(operation, key, shown, arguments))

        call_id = f"apply_patch:{id(operation)}"
        result = await use_tool(life, Use(name, shown, invoke), call_id, operation.ctx_wrapper)
        if not result.texts and not result.replaced:
            return result.output
        text = "\n\n".join((text_of(plain(result.output)), *result.texts))
        return ApplyPatchResult(output=text)


async def _awaited(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


def _content(operation: ApplyPatchOperation) -> str:
    """Return what an operation writes: of a new file its content, without the marks of a diff."""
    text = operation.diff or ""
    if operation.type != "create_file":
        return text
    return "\n".join(line.removeprefix("+") for line in text.split("\n"))


def _changed(
    operation: ApplyPatchOperation, key: str, shown: dict[str, Any], wanted: dict[str, Any]
) -> ApplyPatchOperation:
    if wanted == shown:
        return operation
    diff = operation.diff
    if wanted.get(key) != shown.get(key):
        diff = str(wanted.get(key, ""))
        if operation.type == "create_file":
            diff = "\n".join(f"+{line}" for line in diff.split("\n"))
    return dataclasses.replace(operation, path=str(wanted["file_path"]), diff=diff)


def _guard_patches(tool: ApplyPatchTool) -> ApplyPatchTool:
    guarded = copy.copy(tool)
    guarded.editor = _Editor(tool.editor)
    return guarded


GUARDS: dict[type, Callable[[Any], Any]] = {
    FunctionTool: _guard_function,
    CustomTool: _guard_custom,
    ShellTool: _guard_shell,
    LocalShellTool: _guard_local_shell,
    ApplyPatchTool: _guard_patches,
}

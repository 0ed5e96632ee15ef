"""Tools of agents that let hooks decide before they run, by the kinds that this process runs."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import json
import shlex
from functools import partial
from typing import TYPE_CHECKING, Any

from agents.editor import ApplyPatchOperation, ApplyPatchResult
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
from anyhook.integrations.framework import missing_for
from anyhook.integrations.host_tools import result_text
from anyhook.integrations.openai_agents.calls import (
    FunctionResult,
    call_tool,
    denial_text,
    error_text,
    parse_arguments,
    recording_failures,
    run_function_tool,
    to_json,
)
from anyhook.integrations.openai_agents.state import OPENAI_AGENTS, current_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agents.tool_context import ToolContext

    from anyhook.integrations.openai_agents.calls import CallOutput
    from anyhook.integrations.openai_agents.state import SessionState

HOSTED_TOOLS = (
    CodeInterpreterTool,
    ComputerTool,
    FileSearchTool,
    HostedMCPTool,
    ImageGenerationTool,
    WebSearchTool,
)


def hook_tool(state: SessionState, tool: Any) -> Any:
    """Return a tool that lets hooks decide; one that runs elsewhere stays as it is."""
    if state.is_idle or getattr(tool, "_is_hooked", False):
        return tool
    if id(tool) in state.hooked_tools:
        return state.hooked_tools[id(tool)][1]
    if isinstance(tool, FunctionTool):
        state.function_tools[tool.name] = tool
        state.function_tools[state.host_name(tool)] = tool
    hooked = tool
    for kind, hook in TOOL_KINDS.items():
        if isinstance(tool, kind) and not _is_hosted(tool):
            hooked = hook(tool)
            hooked._is_hooked = True  # noqa: SLF001 - our own copy
            break
    state.hooked_tools[id(tool)] = (tool, hooked)
    return hooked


def report_hosted_tools(state: SessionState, tools: Iterable[Any]) -> None:
    """Report, once, that tools on which hooks are set run without them."""
    if state.has_reported_hosted_tools or not any(map(_is_hosted, tools)):
        return
    state.has_reported_hosted_tools = True
    for text in missing_for(OPENAI_AGENTS, state.session.engine):
        state.session.messages.send(text)


def offer_tools(state: SessionState, tools: Iterable[Any]) -> None:
    """Let the session check the tools that run in this process."""
    if state.is_idle:
        return
    functions = {state.host_name(tool): tool for tool in tools if isinstance(tool, FunctionTool)}

    def arguments_of(name: str) -> list[str]:
        return list(functions[name].params_json_schema.get("properties") or ())

    state.session.tool_checks.offer(functions, arguments_of)


def _is_hosted(tool: Any) -> bool:
    is_hosted_shell = isinstance(tool, ShellTool) and tool.executor is None
    return is_hosted_shell or isinstance(tool, HOSTED_TOOLS)


class _ReplacementText(str):
    """A text in place of the output of a tool whose output has a schema."""

    __slots__ = ()


def _hook_function_tool(tool: FunctionTool) -> FunctionTool:
    recording = recording_failures(tool)

    async def invoke(context: ToolContext[Any], text: str) -> Any:
        output = await call_tool(
            tool,
            parse_arguments(text),
            partial(run_function_tool, recording, context, text),
            context.tool_call_id,
            context,
        )
        is_changed = output.replaced or bool(output.texts)
        if is_changed and tool.output_json_schema is not None:
            return _ReplacementText(output.full_output)
        return output.full_output

    async def check_denial(data: Any) -> ToolGuardrailFunctionOutput:
        state, context = current_session.get(), data.context
        if state is None:
            return ToolGuardrailFunctionOutput.allow()
        name, call_id = state.host_name(tool), context.tool_call_id
        run = await state.decide(name, parse_arguments(context.tool_arguments), call_id)
        if run.allowed:
            return ToolGuardrailFunctionOutput.allow()
        del state.decided[call_id, name]
        return ToolGuardrailFunctionOutput.reject_content(denial_text(run))

    async def needs_approval(context: Any, arguments: dict[str, Any], call_id: str) -> bool:
        state = current_session.get()
        if state is not None:
            run = await state.decide(state.host_name(tool), arguments, call_id)
            # A hook answered for the user, or the call does not run.
            if run.approved or not run.allowed:
                return False
            arguments = run.arguments
        approval = await evaluate_function_tool_approval(
            tool, context, json.dumps(arguments), call_id
        )
        return approval.outcome == "require_approval"

    hooked = copy.copy(tool)
    hooked.on_invoke_tool = invoke
    # The timeout is that of the tool, which `recording` has; hooks and users take their time.
    hooked.timeout_seconds = None
    before: ToolInputGuardrail[Any] = ToolInputGuardrail(check_denial, name="anyhook")
    hooked.tool_input_guardrails = [*(tool.tool_input_guardrails or ()), before]
    if tool.output_json_schema is not None:
        after: ToolOutputGuardrail[Any] = ToolOutputGuardrail(_use_replacement, name="anyhook")
        hooked.tool_output_guardrails = [*(tool.tool_output_guardrails or ()), after]
    if tool.needs_approval is not False:
        hooked.needs_approval = needs_approval
    return hooked


def _use_replacement(data: Any) -> ToolGuardrailFunctionOutput:
    """Let a hook's text replace an output that has a schema."""
    if isinstance(data.output, _ReplacementText):
        return ToolGuardrailFunctionOutput.reject_content(str(data.output))
    return ToolGuardrailFunctionOutput.allow()


async def _run(function: Callable[..., Any], *arguments: Any) -> FunctionResult:
    """Run a function of the program, plain or async."""
    try:
        output = function(*arguments)
        return FunctionResult(await output if inspect.isawaitable(output) else output)
    except Exception as error:  # noqa: BLE001 - raised again when hooks have seen it
        return FunctionResult(str(error), error_text(error), error)


def _hook_custom_tool(tool: CustomTool) -> CustomTool:
    async def invoke(context: ToolContext[Any], text: str) -> Any:
        async def run(arguments: dict[str, Any]) -> FunctionResult:
            return await _run(tool.on_invoke_tool, context, str(arguments.get("input", "")))

        output = await call_tool(tool, {"input": text}, run, context.tool_call_id, context)
        return output.full_output

    hooked = copy.copy(tool)
    hooked.on_invoke_tool = invoke
    return hooked


async def _call_shell(
    tool: Any, request: Any, command: str, with_command: Callable[[str], Any]
) -> CallOutput:
    """Call a shell; `with_command` returns the request with the command that hooks want."""
    executor = tool.executor

    async def run(arguments: dict[str, Any]) -> FunctionResult:
        new_command = str(arguments.get("command"))
        is_same = new_command == command
        return await _run(executor, request if is_same else with_command(new_command))

    call_id, context = request.data.call_id, request.ctx_wrapper
    return await call_tool(tool, {"command": command}, run, call_id, context)


def _hook_shell(tool: ShellTool) -> ShellTool:
    async def execute(request: Any) -> Any:
        action = request.data.action

        def with_command(command: str) -> Any:
            new_action = dataclasses.replace(action, commands=[command])
            data = dataclasses.replace(request.data, action=new_action)
            return dataclasses.replace(request, data=data)

        output = await _call_shell(tool, request, "\n".join(action.commands), with_command)
        if output.texts and isinstance(output.output, ShellResult):
            texts = [ShellCommandOutput(stdout=text) for text in output.texts]
            commands = [*output.output.output, *texts]
            return dataclasses.replace(output.output, output=commands)
        return output.full_output

    hooked = copy.copy(tool)
    hooked.executor = execute
    return hooked


def _hook_local_shell(tool: LocalShellTool) -> LocalShellTool:
    async def execute(request: Any) -> Any:
        action = request.data.action

        def with_command(command: str) -> Any:
            new_action = action.model_copy(update={"command": shlex.split(command)})
            data = request.data.model_copy(update={"action": new_action})
            return dataclasses.replace(request, data=data)

        output = await _call_shell(tool, request, shlex.join(action.command), with_command)
        return output.full_output

    hooked = copy.copy(tool)
    hooked.executor = execute
    return hooked


PATCH_TOOLS = {
    "create_file": ("write_file", "content"),
    "update_file": ("edit_file", "diff"),
    "delete_file": ("delete_file", "diff"),
}
"""Operation of a patch to the tool that hooks see, and the argument that holds its text."""


class _HookedEditor:
    """An editor of patches that lets hooks decide."""

    def __init__(self, inner: Any, tool: ApplyPatchTool) -> None:
        self.inner = inner
        self.tool = tool

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["inner"], name)

    async def create_file(self, operation: ApplyPatchOperation) -> Any:
        return await self._edit(operation)

    async def update_file(self, operation: ApplyPatchOperation) -> Any:
        return await self._edit(operation)

    async def delete_file(self, operation: ApplyPatchOperation) -> Any:
        return await self._edit(operation)

    async def _edit(self, operation: ApplyPatchOperation) -> Any:
        edit = getattr(self.inner, operation.type)
        name, text_argument = PATCH_TOOLS[operation.type]
        # Of a new file hooks see its content, without the marks of a diff.
        is_new = operation.type == "create_file"
        visible = {"file_path": operation.path}
        if operation.diff is not None:
            visible[text_argument] = operation.diff
            if is_new:
                lines = operation.diff.split("\n")
                visible[text_argument] = "\n".join(line.removeprefix("+") for line in lines)

        async def run(arguments: dict[str, Any]) -> FunctionResult:
            if arguments == visible:
                return await _run(edit, operation)
            diff = operation.diff
            if arguments.get(text_argument) != visible.get(text_argument):
                diff = str(arguments.get(text_argument, ""))
                if is_new:
                    diff = "\n".join(f"+{line}" for line in diff.split("\n"))
            path = str(arguments["file_path"])
            return await _run(edit, dataclasses.replace(operation, path=path, diff=diff))

        # The SDK does not pass the identifier of the call.
        call_id = f"apply_patch:{id(operation)}"
        output = await call_tool(self.tool, visible, run, call_id, operation.ctx_wrapper, name=name)
        if not output.texts and not output.replaced:
            return output.output
        text = "\n\n".join((result_text(to_json(output.output)), *output.texts))
        return ApplyPatchResult(output=text)


def _hook_apply_patch(tool: ApplyPatchTool) -> ApplyPatchTool:
    hooked = copy.copy(tool)
    hooked.editor = _HookedEditor(tool.editor, tool)
    return hooked


TOOL_KINDS: dict[type, Callable[[Any], Any]] = {
    FunctionTool: _hook_function_tool,
    CustomTool: _hook_custom_tool,
    ShellTool: _hook_shell,
    LocalShellTool: _hook_local_shell,
    ApplyPatchTool: _hook_apply_patch,
}

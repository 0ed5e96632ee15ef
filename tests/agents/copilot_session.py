"""A session of GitHub Copilot CLI, with the engine in place of the program's own hooks.

It asks the engine where the program runs its hooks, and makes the texts that the model gets. Tools
and models are not the program's: shell commands run as they are, other tools answer fixed texts.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from anyhook import AfterTool, BeforeTool
from anyhook.model.answers import Outcome
from anyhook.model.events import (
    AfterAgent,
    BeforeCompress,
    BeforePrompt,
    Notification,
    SessionEnd,
    SessionStart,
)
from anyhook.model.tool_events import PermissionRequest, PostToolUseFailure
from anyhook.model.turn_events import PromptTransformed, SubagentStart, SubagentStop

MAX_BLOCKS = 8
ASKED_FIRST = frozenset({"bash", "create", "edit"})
"""Tools that need permission."""
NOBODY_ASKED = (
    "Permission denied because no interactive user response was available. Retry in an interactive "
    "session so the user can approve it, or try an alternative that does not require this "
    "permission."
)
BAD_INPUT = "Invalid input"
CONTEXT_LIMIT = 10 * 1024


class Session:
    """One run of the program with `-p`.

    Attributes:
        user: Text of the last message of the user that the model got.
        tool: Text of the last result of a tool that the model got.
        requests: Requests to the model.
        warnings: Texts of hooks that the user is shown.
        arguments: Arguments of the last call that ran.
    """

    def __init__(self, engine, *, allows=True, denied_command=""):
        self.engine = engine
        self.project = Path(engine.project_dir)
        self.allows = allows
        self.denied_command = denied_command
        self.user = ""
        self.tool = None
        self.requests = 0
        self.warnings = []
        self.notes = []
        self.shells = 0

    async def ask(self, event):
        """Dispatch an event of this session, and show its warnings to the user."""
        decision = await self.engine.dispatch(event.replace(cwd=str(self.project), session_id="s"))
        for message in decision.messages:
            if message.field == "stderr" and str(message.audience) == "user":
                self.warnings.append(message.text)
        return decision

    async def run(self, calls, *, prompt="go", compacts=False, notifies=False):
        """Run the prompt; the model makes the calls one by one, and then answers."""
        start = await self.ask(SessionStart(source="new"))
        self.notes += start.context
        if not await self._submit(prompt):
            return
        self.requests = 1
        for tool, arguments in calls:
            self.notes = []
            await self._call(tool, arguments)
            self.requests += 1
            if self.notes:
                self.user = self.notes[-1]
        if notifies:
            await self._notify()
        if compacts:
            await self.ask(BeforeCompress(trigger="auto"))
        await self._stop()
        await self.ask(SessionEnd(reason="complete"))

    async def _submit(self, prompt):
        decision = await self.ask(BeforePrompt(prompt=prompt))
        if decision.denied or decision.extra.get("handled"):
            return False
        prompt = decision.extra.get("modified_prompt", prompt)
        for text in decision.context:
            prompt += f"\n\n<system_reminder>\n{text}\n</system_reminder>"
        event = PromptTransformed(prompt=prompt, transformed_prompt=prompt)
        decision = await self.ask(event)
        self.user = decision.extra.get("modified_transformed_prompt", prompt)
        return True

    async def _stop(self):
        for blocks in range(MAX_BLOCKS + 1):
            event = AfterAgent(prompt="", prompt_response="", stop_hook_active=blocks > 0)
            decision = await self.ask(event)
            if not decision.denied or blocks == MAX_BLOCKS:
                return
            self.user = decision.reason
            self.requests += 1

    async def _notify(self):
        decision = await self.ask(Notification(notification_type="shell_completed", message="m"))
        for text in decision.context:
            self.user = text
            self.requests += 1

    # -- calls of tools

    async def _call(self, tool, arguments):
        decision = await self.ask(BeforeTool(tool_name=tool, tool_input=arguments))
        if decision.context:
            text = "\n\n".join(decision.context)
            self.notes.append(f"Additional context from preToolUse hook:\n{text}")
        if decision.outcome is Outcome.DENY:
            self.tool = self._denial(decision)
            return
        if decision.outcome is Outcome.ASK:
            reason = decision.reason or "No reason provided"
            self.tool = f"Denied by preToolUse hook (unable to ask user for confirmation): {reason}"
            return
        arguments = arguments if decision.tool_input is None else decision.tool_input
        refusal = _input_problem(tool, arguments)
        if refusal is None and not decision.approve and _needs_permission(tool):
            refusal = await self._ask_permission(tool, arguments)
        self.tool = refusal
        if refusal is None:
            await self._run_tool(tool, arguments)

    def _denial(self, decision):
        if decision.reason.lower().startswith("invalid input"):
            return BAD_INPUT
        decider = next(r for r in decision.results if r.answer.outcome is Outcome.DENY)
        if not decider.failed or decider.exit_code == 2:
            return f"Denied by preToolUse hook: {decision.reason}"
        return f'Denied by preToolUse hook from "{self._source(decider)}" (hook errored)'

    def _source(self, result):
        path = Path(result.handler.place.file)
        if not path.is_relative_to(self.project):
            return str(path)
        return str(path.relative_to(self.project)) if path.parent.name == "hooks" else "settings"

    async def _ask_permission(self, tool, arguments):
        decision = await self.ask(PermissionRequest(tool_name=tool, tool_input=arguments))
        if decision.outcome is Outcome.DENY:
            decider = [r for r in decision.results if r.answer.outcome is Outcome.DENY][-1]
            has_failed = decider.failed and decider.exit_code != 2
            reason = "Permission request hook failed" if has_failed else decision.reason
            self.stops = decision.stop
            return f"Permission denied by a PermissionRequest hook: {reason}"
        if decision.approve:
            return None
        if self.denied_command and self.denied_command in arguments.get("command", ""):
            rule = f"`shell({self.denied_command})`"
            return f"Permission to run this tool was denied due to the following rules: {rule}"
        return None if self.allows else NOBODY_ASKED

    async def _run_tool(self, tool, arguments):
        if tool == "task":
            text = await self._run_subagent(arguments)
        elif tool == "bash":
            text = self._run_shell(arguments["command"])
        elif tool == "view" and not _exists(arguments["path"]):
            await self._fail(tool, arguments)
            return
        else:
            text = _fixed_result(tool, arguments)
        result = {"resultType": "success", "textResultForLlm": text}
        event = AfterTool(tool_name=tool, tool_input=arguments, tool_response=result)
        decision = await self.ask(event)
        self.tool = text
        if decision.denied:
            self.tool = f"Tool result blocked: {decision.reason}"
        elif decision.tool_output is not None:
            self.tool = decision.tool_output["textResultForLlm"]
        if decision.context:
            advice = "\n\n".join(decision.context)[:CONTEXT_LIMIT]
            heading = f'Tool "{tool}" succeeded. Additional guidance from postToolUse hooks:'
            self.tool += f"\n\n{heading}\n{advice}"

    def _run_shell(self, command):
        done = subprocess.run(
            ["/bin/bash", "-c", command],
            cwd=self.project,
            capture_output=True,
            text=True,
            check=False,
        )
        number = self.shells
        self.shells += 1
        end = f"<shellId: {number} completed with exit code {done.returncode}>"
        return f"{done.stdout.rstrip()}\n{end}"

    async def _fail(self, tool, arguments):
        path = arguments["path"]
        event = PostToolUseFailure(
            tool_name=tool, tool_input=arguments, error="Path does not exist"
        )
        decision = await self.ask(event)
        self.tool = f"Path {path} does not exist. Please provide a valid path."
        if decision.context:
            advice = "\n\n".join(decision.context)
            source = "Additional guidance from postToolUseFailure hooks"
            self.notes.append(f'Tool "{tool}" failed. {source}:\n{advice}')

    async def _run_subagent(self, arguments):
        name = arguments["agent_type"]
        await self.ask(SubagentStart(agent_type=name))
        self.requests += 2
        text = "sub done"
        for blocks in range(MAX_BLOCKS):
            event = SubagentStop(agent_type=name, prompt_response=text, stop_hook_active=blocks > 0)
            decision = await self.ask(event)
            if not decision.denied:
                break
            text = "sub again"
            self.requests += 1
        return decision.extra.get("modified_response", text)


def _exists(path):
    return os.path.exists(path)


def _needs_permission(tool):
    return tool in ASKED_FIRST or "-" in tool


def _input_problem(tool, arguments):
    required = {"bash": "command", "view": "path"}.get(tool)
    if required is None or isinstance(arguments.get(required), str):
        return None
    return BAD_INPUT


def _fixed_result(tool, arguments):
    if tool == "view":
        return "one\n"
    if tool == "sql":
        return "1 row(s) returned:\n\n| 1 |\n| --- |\n| 1 |"
    if tool == "create":
        return f"Created file {arguments['path']} with {len(arguments['file_text'])} characters"
    if "-" in tool:
        return f"{arguments.get('text', '')}".join(["echo: ", ""])
    return ""

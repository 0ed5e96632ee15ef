"""A run of Qwen Code with the engine in the place of its hook system.

It follows the order in which the program asks its hooks, and returns what the model gets. The
effects of a decision that are the program's own are here: how context is wrapped and escaped, that
a batch has one call, the limit of `Stop`, that a denied prompt ends the run.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from anyhook.model.answers import Outcome

STOP_LIMIT = 8
NORMAL = "normal"
"""Stands for the result of a tool that ran."""
USUAL = ("run_shell_command", {"command": "echo RAN > ran.txt; echo ran-output",
                               "is_background": False, "description": "run"})  # fmt: skip
COMMON = {"session_id": "s1", "transcript_path": "/home/dev/.qwen/projects/p/chats/s1.jsonl"}


@dataclass
class Run:
    """What was observed: a subset of what a case of the table says.

    Attributes:
        ran: Whether the usual command ran; `None` without a tool call.
        requests: Number of requests to the model.
        results: What the model got for each call of a tool; `NORMAL`, also with appended context.
        user_texts: Texts that the model got as the user's, beside the prompt.
        system_context: Context in the system message.
        confirmation: Whether the user was asked.
        stop_message: Message of hooks at the end.
    """

    ran: bool | None = None
    requests: int = 0
    results: list[str] = field(default_factory=list)
    user_texts: list[str] = field(default_factory=list)
    system_context: str | None = None
    confirmation: bool = False
    stop_message: str = ""


def escape(text: str) -> str:
    return text.replace("<", "&lt;").replace(">", "&gt;")


class QwenSession:
    """One run of a case.

    Args:
        engine: An engine with the `observed` rules.
        case: The case.
    """

    def __init__(self, engine: Any, case: dict[str, Any], project: str) -> None:
        self.engine = engine
        self.case = case
        self.project = project
        self.run = Run()
        self.todos: dict[str, str] = {}
        self.texts = list(case.get("texts", ["after"]))

    async def fire(self, event: str, **fields: Any) -> Any:
        payload = {
            **COMMON,
            "cwd": self.project,
            "hook_event_name": event,
            "timestamp": "2026-11-22T02:52:37.701Z",
            "permission_mode": self.case.get("approval", "yolo"),
            **fields,
        }
        decoded, problems = self.engine.decode(payload)
        assert problems == (), problems
        return await self.engine.dispatch(decoded)

    async def play(self) -> Run:
        run = self.run
        await self.fire(
            "InstructionsLoaded",
            file_path="/home/dev/.qwen/output-language.md",
            memory_type="extension",
            load_reason="session_start",
        )
        started = await self.fire("SessionStart", source="startup", model="fake-model")
        if started.context:
            run.system_context = escape("\n".join(started.context))
        await self.fire(
            "Notification", message="ok", notification_type="auth_success", title="Authenticated"
        )
        prompt = await self._expand()
        if prompt is None or not await self._submit(prompt, submitted_prompt=prompt):
            return run
        for turn in self.case.get("turns", self._default_turns()):
            run.requests += 1
            for call in turn:
                name, arguments = USUAL if call == "usual" else call
                run.results.append(await self._call(name, arguments))
            if not await self._submit(""):
                return run
        await self._finish()
        return run

    def _default_turns(self) -> list[Any]:
        without_tool = {
            "UserPromptExpansion", "SessionStart", "MessageDisplay", "InstructionsLoaded",
            "Notification", "Stop", "UserPromptSubmit",
        }  # fmt: skip
        hooks = self.case["settings"].get("user", {})
        events = set(hooks.get("hooks", {})) if isinstance(hooks, dict) else set()
        needs_tool = "ran" in self.case["observed"]
        return [["usual"]] if needs_tool or not events & without_tool else []

    async def _expand(self) -> str | None:
        if "command" not in self.case:
            return "go"
        name, arguments, prompt = self.case["command"]
        decision = await self.fire(
            "UserPromptExpansion", command_name=name, command_args=arguments, prompt=prompt
        )
        if decision.denied:
            return None
        self.run.user_texts.append(prompt)
        if decision.context:
            text = escape("\n".join(decision.context).replace("&", "&amp;"))
            self.run.user_texts.append(f"\n\n{text}")
        return str(prompt)

    async def _submit(self, prompt: str, **fields: Any) -> bool:
        decision = await self.fire("UserPromptSubmit", prompt=prompt, **fields)
        if decision.denied:
            return False
        if decision.context:
            text = escape("\n".join(decision.context))
            tag = "qwen:user-prompt-submit-context"
            self.run.user_texts.append(f"<{tag}>\n{text}\n</{tag}>")
        return True

    async def _call(self, name: str, arguments: dict[str, Any]) -> str:
        tool = {"tool_name": name, "tool_input": arguments}
        ids = {"tool_use_id": "toolu_1", "tool_call_id": "call_1"}
        result = await self._permit(tool, ids)
        if name in ("run_shell_command", "write_file"):
            self.run.ran = bool(self.run.ran) or result is None
        if result is None:
            result = await self._run_tool(name, arguments, tool, ids)
        return await self._batch(tool, ids, result)

    async def _permit(self, tool: dict[str, Any], ids: dict[str, str]) -> str | None:
        """Return why a call does not run; `None` if it does."""
        is_asked = self.case.get("approval") == "default" and self.case.get("terminal")
        if is_asked:
            decision = await self.fire("PermissionRequest", **tool)
            if decision.outcome is Outcome.DENY:
                return str(decision.reason or "")
            self.run.confirmation = decision.outcome is not Outcome.ALLOW
        decision = await self.fire("PreToolUse", **tool, **ids)
        if decision.outcome is Outcome.ASK and self.case.get("terminal"):
            self.run.confirmation = True
            return None
        is_refused = decision.denied or decision.outcome is Outcome.ASK
        return str(decision.reason) if is_refused else None

    async def _run_tool(
        self, name: str, arguments: dict[str, Any], tool: dict[str, Any], ids: dict[str, str]
    ) -> str:
        error = self.case.get("errors", {}).get(name)
        if error is not None:
            decision = await self.fire(
                "PostToolUseFailure", **tool, **ids, error=error, is_interrupt=False
            )
            return self._append(error, decision)
        if name == "agent":
            return await self._run_subagent(arguments)
        blocked = await self._write_todos(arguments) if name == "todo_write" else None
        if blocked is not None:
            return blocked
        response = {"llmContent": "ok", "returnDisplay": "ok"}
        decision = await self.fire("PostToolUse", **tool, tool_response=response, **ids)
        if decision.denied:
            return str(decision.reason)
        return self._append(NORMAL, decision)

    def _append(self, result: str, decision: Any) -> str:
        if not decision.context:
            return result
        return f"{result}\n\n{escape(chr(10).join(decision.context))}"

    async def _batch(self, tool: dict[str, Any], ids: dict[str, str], result: str) -> str:
        decision = await self.fire("PostToolBatch", tool_calls=[{**tool, **ids}])
        if decision.denied:
            return str(decision.reason)
        return self._append(result, decision)

    async def _write_todos(self, arguments: dict[str, Any]) -> str | None:
        """Write the list of things to do, as far as hooks let it be written."""
        for item in arguments["todos"]:
            before = self.todos.get(item["id"])
            fields = {
                "todo_id": item["id"],
                "todo_content": item["content"],
                "all_todos": arguments["todos"],
                "phase": "validation",
            }
            verb, event = "creation", "TodoCreated"
            if before is None:
                decision = await self.fire("TodoCreated", **fields, todo_status=item["status"])
            elif item["status"] == "completed" != before:
                verb, event = "completion", "TodoCompleted"
                decision = await self.fire("TodoCompleted", **fields, previous_status=before)
            else:
                continue
            if decision.denied:
                reason = decision.reason
                return (
                    f"Todo {verb} blocked: {reason}\n\n<system-reminder>\nTodo list was not "
                    f"modified because a {event} hook blocked the operation: {reason}\n"
                    "</system-reminder>"
                )
        self.todos = {item["id"]: item["status"] for item in arguments["todos"]}
        return None

    async def _run_subagent(self, arguments: dict[str, Any]) -> str:
        agent = {"agent_id": "general-purpose-1", "agent_type": arguments["subagent_type"]}
        started = await self.fire("SubagentStart", **agent)
        self.run.user_texts.extend(started.context)
        self.run.requests += 1
        await self._permit(
            {"tool_name": USUAL[0], "tool_input": USUAL[1]},
            {"tool_use_id": "toolu_2", "tool_call_id": "call_2"},
        )
        for text in ("sub done", "sub again"):
            self.run.requests += 1
            decision = await self.fire(
                "SubagentStop",
                **agent,
                stop_hook_active=text != "sub done",
                agent_transcript_path="",
                last_assistant_message=text,
            )
            if not decision.denied:
                break
        return text

    async def _finish(self) -> None:
        limit = STOP_LIMIT
        if isinstance(self.case["settings"].get("user"), dict):
            limit = self.case["settings"]["user"].get("stopHookBlockingCap", STOP_LIMIT)
        for count in range(limit):
            self.run.requests += 1
            text = self.texts.pop(0) if self.texts else "Done."
            decision = await self.fire(
                "Stop", stop_hook_active=count > 0, last_assistant_message=text
            )
            self.run.stop_message = "\n".join(decision.system_messages)
            if not decision.denied:
                return
            self.run.user_texts.append(str(decision.reason))


def differences(case: dict[str, Any], run: Run, files: dict[str, str]) -> dict[str, Any]:
    """Return what a run has in another way than the case: name to the two values."""
    wanted = case["observed"]
    got: dict[str, Any] = {
        "ran": run.ran,
        "requests": run.requests,
        "confirmation": run.confirmation,
        "system_context": run.system_context,
        "user_texts": run.user_texts,
        "stop_message": run.stop_message,
        "saws": run.results[-len(wanted.get("saws", [])) or None :],
        "saw": (run.results or [""])[-1].partition("\n\n")[0],
        "appended": (run.results or [""])[-1].removeprefix(NORMAL),
        "saw_length": len((run.results or [""])[-1]),
        "files": {name: files.get(name) for name in wanted.get("files", {})},
        "nowhere": wanted.get("nowhere"),
    }
    if "second_got" in wanted:
        second = json.loads(files["second.txt"])
        got["second_got"] = {name: second.get(name) for name in wanted["second_got"]}
    if wanted.get("contains", "") in (run.results or [""])[-1]:
        got["contains"] = wanted.get("contains")
    if "nowhere" in wanted and wanted["nowhere"] in "".join(run.user_texts + run.results):
        got["nowhere"] = "somewhere"
    wanted = {name: value for name, value in wanted.items() if name != "header"}
    if wanted.get("user_texts") == ["go"]:
        del wanted["user_texts"]
    if "user_texts" in wanted:
        texts = [text for text in got["user_texts"] if text in wanted["user_texts"]]
        got["user_texts"] = list(dict.fromkeys(texts))
    return {
        name: (value, got.get(name)) for name, value in wanted.items() if got.get(name) != value
    }

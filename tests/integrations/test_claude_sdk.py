"""Settings of any agent guard Claude Code through its SDK.

What the SDK itself does is real here, down to its transport; the program behind that is scripted,
and does what the real one was seen to do. `tests/e2e/test_claude_sdk.py` has the real one.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, get_args

import anyio
import anyio.to_thread
import pytest
from claude_agent_sdk import (
    ClaudeAgentOptions,
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
    Transport,
    query,
)
from claude_agent_sdk.types import HookEvent

from anyhook import ask, deny
from anyhook.agents import get_agent
from anyhook.agents.translate import counterparts
from anyhook.authoring import replace_result
from anyhook.integrations import HostTool
from anyhook.integrations.claude_sdk import CLAUDE_SDK, anyhook_hooks, hooks_of
from anyhook.integrations.claude_sdk.hooks import MAX_SESSIONS, TIMEOUT
from tests.conftest import DATA
from tests.integrations.contract import (
    OTHER_TOOLS,
    Scenario,
    Seen,
    engine_of,
    judge,
    options_of,
    run_tool,
    scenarios,
)
from tests.world import World, command

TOOLS = {"shell": "Bash", "write_file": "Write", "read_file": "Read"}
TOOLS |= {name: f"mcp__box__{name}" for name in OTHER_TOOLS}
OWN = {name: tool for tool, name in TOOLS.items()}
TITLED = {name for part in get_args(HookEvent) for name in get_args(part) or (part,)}

# Rows about what is the program's own, with what is looked at instead.
STARTS = str(CLAUDE_SDK.missing["session_start"])
ENDS = str(CLAUDE_SDK.missing["session_end"])
ITS_OWN = {
    "start:context": STARTS,
    "start:context-once": STARTS,
    "start:message": STARTS,
    "start:matcher": STARTS,
    "start:deny": STARTS,
    "start:plain": STARTS,
    "bye:once": ENDS,
    "bye:after-stop": ENDS,
    "prompt:escaped": "",  # how it marks context
    "tool:ask-none": "",  # it reports nothing when the user cannot be asked
    "all:transcript": "",  # it writes a transcript of its own
    "tool:defer": "",  # it ends the run, and asks again when that goes on
    "end:cap": "",  # how often it lets itself be sent round
}


def recorded(event: str) -> list[dict[str, Any]]:
    """Return what the program has really sent."""
    lines = (DATA / "claude" / f"{event}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


RECORDED = sorted(path.stem for path in (DATA / "claude").glob("*.jsonl"))


def result(**fields: Any) -> dict[str, Any]:
    times = {"duration_ms": 1, "duration_api_ms": 1, "num_turns": 1}
    return {"type": "result", "subtype": "success", "is_error": False, **times, **fields}


class Program(Transport):
    """Claude Code as far as hooks see it, with a script for a model."""

    def __init__(
        self, scenario: Scenario, seen: Seen, directory: Path, session: str = "s1"
    ) -> None:
        self.scenario = scenario
        self.directory = directory
        self.seen = seen
        self.session = session
        self.hooks: dict[str, list[dict[str, Any]]] = {}
        self.errors: list[str] = []
        self.replies: list[dict[str, Any]] = []
        self.history: list[str] = []
        self._turns = iter(scenario.says)
        self._waiting: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._inbox: asyncio.Queue[str | None] = asyncio.Queue()
        self._to_sdk, self._from_program = anyio.create_memory_object_stream[Any](math.inf)

    # -- what the SDK wants of a transport

    async def connect(self) -> None:
        self._life = asyncio.create_task(self._live())

    async def write(self, data: str) -> None:
        message = json.loads(data)
        if message["type"] == "control_request":
            assert message["request"]["subtype"] == "initialize"
            self.hooks = message["request"]["hooks"] or {}
            answer = {"subtype": "success", "request_id": message["request_id"], "response": {}}
            self._to_sdk.send_nowait({"type": "control_response", "response": answer})
        elif message["type"] == "control_response":
            self._waiting.pop(message["response"]["request_id"]).set_result(message["response"])
        else:
            self._inbox.put_nowait(message["message"]["content"])

    async def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        async for message in self._from_program:
            yield message

    async def end_input(self) -> None:
        self._inbox.put_nowait(None)

    async def close(self) -> None:
        self._life.cancel()
        self._from_program.close()

    def is_ready(self) -> bool:
        return True

    # -- what the program does

    async def _live(self) -> None:
        with self._to_sdk:
            while (prompt := await self._inbox.get()) is not None:
                text = await self.turn(prompt)
                self.seen.shown.append(text)
                self._to_sdk.send_nowait(result(session_id=self.session, result=text))

    def ask(self, request: dict[str, Any]) -> tuple[str, asyncio.Future[dict[str, Any]]]:
        number = f"{self.session}-{len(self.replies)}-{len(self._waiting)}"
        self._waiting[number] = asyncio.get_running_loop().create_future()
        message = {"type": "control_request", "request_id": number, "request": request}
        self._to_sdk.send_nowait(message)
        return number, self._waiting[number]

    def send(self, message: dict[str, Any]) -> None:
        self._to_sdk.send_nowait(message)

    async def fire(self, event: str, **fields: Any) -> dict[str, Any]:
        """Ask the callbacks of an event, and do what holds for all events."""
        merged: dict[str, Any] = {}
        for matcher in self.hooks.get(event, ()):
            for number in matcher["hookCallbackIds"]:
                request = self.request(event, number, **fields)
                response = await self.ask(request)[1]
                if response["subtype"] == "error":
                    self.errors.append(response["error"])
                merged |= response.get("response") or {}
        self.replies.append(merged)
        if "systemMessage" in merged:
            self.seen.reported.append(merged["systemMessage"])
        if merged.get("continue") is False:
            self.seen.stopped = merged.get("stopReason")
            raise StopAsyncIteration
        return merged

    def request(self, event: str, number: str, **fields: Any) -> dict[str, Any]:
        payload = {
            **recorded(event)[0],
            "session_id": self.session,
            "cwd": str(self.directory),
            **fields,
        }
        return {"subtype": "hook_callback", "callback_id": number, "input": payload}

    def hear(self, reply: dict[str, Any]) -> dict[str, Any]:
        specific: dict[str, Any] = reply.get("hookSpecificOutput") or {}
        if "additionalContext" in specific:
            self.history.append(specific["additionalContext"])
        return specific

    async def turn(self, prompt: str) -> str:
        try:
            reply = await self.fire("UserPromptSubmit", prompt=prompt)
            if reply.get("decision") == "block":
                self.seen.reported.append(reply["reason"])
                return ""
            self.history.append(prompt)
            self.hear(reply)
            return await self.rounds()
        except StopAsyncIteration:
            return ""
        finally:
            self.seen.history = "\n".join(self.history)

    async def rounds(self) -> str:
        active = False
        while True:
            self.seen.sent.append("\n".join(self.history))
            self.seen.offered.append(list(self.scenario.tool_names))
            turn = next(self._turns)
            if not isinstance(turn, str):
                for call in turn if isinstance(turn, list) else [turn]:
                    await self.use(TOOLS[call["tool"]], call["args"])
                continue
            self.history.append(turn)
            reply = await self.fire("Stop", stop_hook_active=active, last_assistant_message=turn)
            if reply.get("decision") != "block":
                self.hear(reply)
                return turn
            active = True
            self.history.append(f"Stop hook feedback: {reply['reason']}")

    async def use(self, name: str, arguments: dict[str, Any]) -> None:
        call = {"tool_name": name, "tool_input": arguments}
        output = self.hear(await self.fire("PreToolUse", **call))
        arguments = output.get("updatedInput", arguments)
        call["tool_input"] = arguments
        why = output.get("permissionDecisionReason", "")
        verdict = output.get("permissionDecision")
        if verdict == "ask":
            verdict, why = await self.confirm(call, why)
        if verdict == "deny":
            self.history.append(f"{name} was not run: {why}")
            return
        try:
            text = run_tool(self.scenario, self.seen, OWN[name], arguments)
        except RuntimeError as error:
            after = await self.fire("PostToolUseFailure", **call, error=str(error))
            self.history.append(str(error))
        else:
            response: Any = {"stdout": text, "stderr": "", "interrupted": False, "isImage": False}
            if name.startswith("mcp__"):
                response = [{"type": "text", "text": text}]
            is_shown = name == "Bash" or name.startswith("mcp__")
            shown = response if is_shown else {"type": "text", "file": {"content": text}}
            after = await self.fire("PostToolUse", **call, tool_response=shown)
            new = (after.get("hookSpecificOutput") or {}).get("updatedToolOutput", response)
            self.history.append(new["stdout"] if "stdout" in new else json.dumps(new))
        self.hear(after)
        if after.get("decision") == "block":
            self.history.append(after["reason"])

    async def confirm(self, call: dict[str, Any], why: str) -> tuple[str, str]:
        output = (await self.fire("PermissionRequest", **call)).get("hookSpecificOutput") or {}
        if "decision" in output:
            return output["decision"]["behavior"], output["decision"].get("message", "")
        await self.fire("Notification", notification_type="permission_prompt", message="may it?")
        if self.scenario.ask is None:
            return "deny", why
        asked = {"subtype": "can_use_tool", "tool_name": call["tool_name"]}
        _, answer = self.ask({**asked, "input": call["tool_input"], "permission_suggestions": []})
        response = (await answer)["response"]
        return response["behavior"], f"{why} {response.get('message', '')}"


async def live(scenario: Scenario, world: World) -> Seen:
    seen = Seen()

    async def can_use_tool(name, arguments, context):
        seen.questions.append(OWN[name])
        return PermissionResultAllow() if scenario.ask else PermissionResultDeny(message="no")

    with engine_of(scenario, world, seen) as engine:
        given = options_of(scenario, world, seen)
        tools = {TOOLS[name]: tool for name, tool in given["tools"].items()}
        shared = {name: given[name] for name in ("on_message", "on_decision")}
        hooks = hooks_of(engine, tools=tools, **shared)
        options = ClaudeAgentOptions(
            hooks=hooks, can_use_tool=None if scenario.ask is None else can_use_tool
        )
        program = Program(scenario, seen, world.project)
        async for _ in query(prompt=prompts(scenario), options=options, transport=program):
            pass
    assert program.errors == []
    return seen


async def prompts(scenario: Scenario) -> AsyncIterator[dict[str, Any]]:
    for prompt in scenario.prompts:
        yield {"type": "user", "message": {"role": "user", "content": prompt}}


@pytest.mark.parametrize("scenario", scenarios(), ids=lambda scenario: scenario.id)
def test_what_hooks_say_is_what_the_program_is_reported(scenario, tmp_path):
    seen = asyncio.run(live(scenario, World(tmp_path, agent=scenario.agent)))

    if scenario.id in ITS_OWN:
        assert ITS_OWN[scenario.id] in "\n".join(seen.reported)
    else:
        judge(scenario, seen, CLAUDE_SDK)


# -- one callback


class Guarded:
    """A project with hooks of some agent's settings, and what the callbacks answer."""

    def __init__(self, world: World, hooks: dict[str, list[Any]] | None = None) -> None:
        self.reported: list[str] = []
        self.seen: list[Any] = []
        if hooks is not None:
            world.settings("project", {"hooks": {e: on(*outputs) for e, outputs in hooks.items()}})
        self.engine = world.load()
        self.hooks = self.made()

    def made(self, **options: Any) -> Any:
        self.hooks = hooks_of(
            self.engine,
            on_message=self.reported.append,
            on_decision=lambda event, decision: self.seen.append(event),
            **options,
        )
        return self.hooks

    async def answer(self, event: str, /, **fields: Any) -> dict[str, Any]:
        directory = {"cwd": str(self.engine.project_dir)}
        return await self.answer_to({**recorded(event)[0], **directory, **fields})

    async def answer_to(self, payload: dict[str, Any]) -> dict[str, Any]:
        (matcher,) = self.hooks[payload["hook_event_name"]]
        (callback,) = matcher.hooks
        return await callback(payload, payload.get("tool_use_id"), {"signal": None})


def on(*outputs: Any) -> list[dict[str, Any]]:
    lines = [output if isinstance(output, str) else command(output) for output in outputs]
    return [{"hooks": [{"type": "command", "command": line} for line in lines]}]


@pytest.fixture
def gemini(tmp_path) -> World:
    return World(tmp_path)


@pytest.fixture
def claude(tmp_path) -> World:
    return World(tmp_path, agent="claude")


def stdout(**members: Any) -> dict[str, Any]:
    return {"stdout": members}


def specific(**members: Any) -> dict[str, Any]:
    return stdout(hookSpecificOutput=members)


GEMINI_ANSWERS: dict[str, tuple[str, Any, str, dict[str, Any]]] = {
    "deny": (
        "BeforeTool",
        stdout(decision="deny", reason="no"),
        "PreToolUse",
        {
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "deny",
                "permissionDecisionReason": "no",
            }
        },
    ),
    "deny by exit code": (
        "BeforeTool",
        {"exit": 2, "stderr": "no"},
        "PreToolUse",
        {
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "deny",
                "permissionDecisionReason": "no",
            }
        },
    ),
    "ask": (
        "BeforeTool",
        stdout(decision="ask", reason="sure?"),
        "PreToolUse",
        {
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "ask",
                "permissionDecisionReason": "sure?",
            }
        },
    ),
    "an allowance approves nothing": ("BeforeTool", stdout(decision="allow"), "PreToolUse", {}),
    "no opinion": ("BeforeTool", stdout(), "PreToolUse", {}),
    "a crash": ("BeforeTool", {"exit": 1, "stderr": "oops"}, "PreToolUse", {}),
    "rewrite": (
        "BeforeTool",
        specific(tool_input={"command": "true"}),
        "PreToolUse",
        {
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "updatedInput": {"command": "true", "description": "t"},
            }
        },
    ),
    "stop before a tool": (
        "BeforeTool",
        stdout(**{"continue": False, "stopReason": "enough"}),
        "PreToolUse",
        {
            "continue_": False,
            "stopReason": "enough",
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "deny",
                "permissionDecisionReason": "enough",
            },
        },
    ),
    "message": ("BeforeTool", stdout(systemMessage="hm"), "PreToolUse", {"systemMessage": "hm"}),
    "context": (
        "BeforeAgent",
        specific(additionalContext="mind"),
        "UserPromptSubmit",
        {
            "hookSpecificOutput": {
                "hookEventName": "UserPromptSubmit",
                "additionalContext": "mind",
            }
        },
    ),
    "a denied prompt": (
        "BeforeAgent",
        stdout(decision="deny", reason="bad words"),
        "UserPromptSubmit",
        {"decision": "block", "reason": "bad words"},
    ),
    "stop at a prompt": (
        "BeforeAgent",
        stdout(**{"continue": False, "stopReason": "broke"}),
        "UserPromptSubmit",
        {"continue_": False, "stopReason": "broke"},
    ),
    "a hidden result": (
        "AfterTool",
        stdout(decision="deny", reason="secret"),
        "PostToolUse",
        {
            "decision": "block",
            "reason": "secret",
            "hookSpecificOutput": {
                "hookEventName": "PostToolUse",
                "updatedToolOutput": {
                    "stdout": "secret",
                    "stderr": "",
                    "interrupted": False,
                    "isImage": False,
                },
            },
        },
    ),
    "context beside a failure": (
        "AfterTool",
        specific(additionalContext="look"),
        "PostToolUseFailure",
        {
            "hookSpecificOutput": {
                "hookEventName": "PostToolUseFailure",
                "additionalContext": "look",
            }
        },
    ),
    "round again": (
        "AfterAgent",
        stdout(decision="deny", reason="test it"),
        "Stop",
        {"decision": "block", "reason": "test it"},
    ),
    "stop at the end": (
        "AfterAgent",
        stdout(**{"continue": False, "stopReason": "enough"}),
        "Stop",
        {"continue_": False, "stopReason": "enough"},
    ),
    "quietly": (
        "AfterAgent",
        stdout(suppressOutput=True),
        "Stop",
        {"suppressOutput": True},
    ),
}


@pytest.mark.parametrize("name", GEMINI_ANSWERS)
@pytest.mark.anyio
async def test_what_a_hook_of_gemini_says_is_said_in_the_words_of_claude(gemini, name):
    event, says, asked, expected = GEMINI_ANSWERS[name]
    guarded = Guarded(gemini, {event: [says]})
    guarded.reported.clear()

    assert await guarded.answer(asked) == expected
    reports = ["oops"] if name == "a crash" else []
    assert len(guarded.reported) == len(reports)
    assert all(text in guarded.reported[0] for text in reports)


SAID_BY_CLAUDE: dict[str, dict[str, Any]] = {
    "PreToolUse": {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "allow",
            "permissionDecisionReason": "fine",
            "updatedInput": {"command": "true"},
            "additionalContext": "mind",
        },
        "systemMessage": "hm",
    },
    "PostToolUse": {"decision": "block", "reason": "lint"},
    "PostToolUseFailure": {
        "hookSpecificOutput": {"hookEventName": "PostToolUseFailure", "additionalContext": "hm"}
    },
    "UserPromptSubmit": {
        "hookSpecificOutput": {
            "hookEventName": "UserPromptSubmit",
            "additionalContext": "mind",
            "sessionTitle": "work",
        }
    },
    "Stop": {"decision": "block", "reason": "test it"},
    "SubagentStop": {"decision": "block", "reason": "test it"},
    "SubagentStart": {
        "hookSpecificOutput": {"hookEventName": "SubagentStart", "additionalContext": "mind"}
    },
    "PermissionRequest": {
        "hookSpecificOutput": {
            "hookEventName": "PermissionRequest",
            "decision": {"behavior": "deny", "message": "no"},
        }
    },
    "PostToolBatch": {"decision": "block", "reason": "enough"},
    "MessageDisplay": {
        "hookSpecificOutput": {"hookEventName": "MessageDisplay", "displayContent": "…"}
    },
}


ENDS_THE_LOOP = {"PostToolBatch": {"continue_": False, "stopReason": "enough"}}
"""A denial of a batch of results ends the agent; the reply says so in both ways."""


@pytest.mark.parametrize("event", SAID_BY_CLAUDE)
@pytest.mark.anyio
async def test_what_a_hook_of_claude_says_goes_through_as_it_is(claude, event):
    guarded = Guarded(claude, {event: [{"stdout": SAID_BY_CLAUDE[event]}]})

    assert await guarded.answer(event) == SAID_BY_CLAUDE[event] | ENDS_THE_LOOP.get(event, {})
    assert guarded.reported == []


@pytest.mark.anyio
async def test_arguments_that_a_hook_of_claude_leaves_out_are_gone(claude):
    new = {"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": {"a": 1}}
    guarded = Guarded(claude, {"PreToolUse": [specific(**new)]})

    answer = await guarded.answer("PreToolUse", tool_input={"a": 0, "b": 0})

    assert answer["hookSpecificOutput"]["updatedInput"] == {"a": 1}


@pytest.mark.anyio
async def test_what_the_program_would_not_show_the_user_is_reported(gemini):
    guarded = Guarded(
        gemini,
        {
            "Notification": [stdout(systemMessage="ping")],
            "PreCompress": [stdout(systemMessage="short")],
        },
    )

    guarded.reported.clear()

    assert await guarded.answer("Notification") == {}
    assert await guarded.answer("PreCompact") == {}
    assert guarded.reported == ["ping", "short"]


@pytest.mark.anyio
async def test_what_the_program_cannot_do_is_reported_when_it_is_wanted(gemini):
    guarded = Guarded(
        gemini,
        {"AfterAgent": [stdout(decision="deny", reason="anew", hookSpecificOutput=CLEARS)]},
    )
    guarded.reported.clear()

    assert await guarded.answer("Stop") == {"decision": "block", "reason": "anew"}
    assert guarded.reported == ["Claude Code has no clearing the context on Stop; it is left out"]


CLEARS = {"hookEventName": "AfterAgent", "clearContext": True}


# -- events


@pytest.mark.slow
@pytest.mark.parametrize("event", RECORDED)
@pytest.mark.parametrize("agent", ["gemini", "claude", "terminai", "generic"])
@pytest.mark.anyio
async def test_every_event_that_the_program_sends_is_answered(tmp_path, agent, event):
    world = World(tmp_path, agent=agent)
    rules = get_agent(agent)
    record = tmp_path / "seen.jsonl"
    line = f"cat >> {record}; echo >> {record}"
    world.settings("project", {"hooks": {spec.wire: on(line) for spec in rules.events}})
    guarded = Guarded(world)
    canonical = get_agent("claude").by_wire[event].canonical

    if event not in guarded.hooks:
        assert counterparts(get_agent("claude"), canonical, rules) == ()
        return
    for payload in recorded(event):
        assert await guarded.answer_to(payload) == {}
    shown = [json.loads(line) for line in record.read_text().splitlines() if line.strip()]
    if agent == "claude":
        assert shown == recorded(event)
    theirs = counterparts(get_agent("claude"), canonical, rules)
    assert {one[rules.event_key] for one in shown} == {rules.by_canonical[theirs[0]].wire}


def test_the_events_of_the_sdk_are_there_without_hooks_and_others_with_them(gemini, claude):
    assert set(Guarded(claude).hooks) == TITLED
    assert set(Guarded(gemini).hooks) == TITLED - {
        *("SubagentStart", "SubagentStop", "PermissionRequest")
    }
    assert set(Guarded(claude, {"PostToolBatch": [stdout()]}).hooks) == {*TITLED, "PostToolBatch"}


@pytest.mark.anyio
async def test_hooks_that_are_registered_later_decide_too(gemini):
    guarded = Guarded(gemini)
    guarded.engine.register("before_tool", lambda event: deny(f"no {event.tool_name}"))

    answer = await guarded.answer("PreToolUse")

    reason = answer["hookSpecificOutput"]["permissionDecisionReason"]
    assert reason == "no run_shell_command"


@pytest.mark.anyio
async def test_the_end_of_a_turn_knows_its_prompt(gemini):
    guarded = Guarded(gemini)

    for number in range(MAX_SESSIONS + 1):
        fields = {"session_id": f"s{number}"}
        await guarded.answer("UserPromptSubmit", prompt=f"prompt {number}", **fields)
    await guarded.answer("Stop", session_id="s1")
    await guarded.answer("Stop", session_id="s0")  # of long ago

    assert [event.prompt for event in guarded.seen[-2:]] == ["prompt 1", ""]


def test_the_program_waits_longer_than_any_hook_may_take(gemini):
    guarded = Guarded(gemini, {"BeforeTool": [stdout()]})

    timeouts = {matcher.timeout for (matcher,) in guarded.hooks.values()}
    assert timeouts == {TIMEOUT}
    assert 24 * 3600 < TIMEOUT < 2**31 / 1000  # a timer of the program holds so many milliseconds


# -- what is missing


def test_what_the_sdk_cannot_do_is_reported_when_the_hooks_are_made(gemini):
    names = dict.fromkeys(key.partition(".")[0] for key in CLAUDE_SDK.missing)
    events = [gemini.agent.by_canonical[name].wire for name in names]
    guarded = Guarded(gemini, {event: [stdout()] for event in events})

    assert len(guarded.reported) == len(CLAUDE_SDK.missing)
    for text, instead in zip(guarded.reported, CLAUDE_SDK.missing.values(), strict=True):
        assert text.startswith("Claude Agent SDK ")
        assert instead in text
        assert str(gemini.files["project"]) in text


def test_abilities_that_no_hook_can_use_are_not_reported(claude):
    events = ("Stop", "PostToolUse", "PreToolUse", "UserPromptSubmit")

    assert Guarded(claude, {event: [stdout()] for event in events}).reported == []


def test_without_a_listener_it_is_logged(gemini, caplog):
    gemini.settings("project", {"hooks": {"BeforeModel": on(stdout())}})

    hooks_of(gemini.load())

    assert "does not fire BeforeModel" in caplog.text


# -- tools of the host


OWN_SHELL = {"mcp__box__run": HostTool("shell", {"cmd": "command"})}
OWN_CALL = {"tool_name": "mcp__box__run", "tool_input": {"cmd": "rm -r x", "when": "now"}}


@pytest.mark.parametrize("agent", ["gemini", "claude"])
@pytest.mark.anyio
async def test_guards_of_shells_guard_a_tool_that_is_one(tmp_path, agent):
    world = World(tmp_path, agent=agent)
    shell = {"gemini": "run_shell_command", "claude": "Bash"}[agent]
    event = {"gemini": "BeforeTool", "claude": "PreToolUse"}[agent]
    guard = 'grep -q \'"command": *"rm -r x"\' && { echo no >&2; exit 2; }'
    world.settings("project", {"hooks": {event: [{"matcher": shell, **on(guard)[0]}]}})
    guarded = Guarded(world)

    assert await guarded.answer("PreToolUse", **OWN_CALL) == {}
    guarded.made(tools=OWN_SHELL)
    answer = await guarded.answer("PreToolUse", **OWN_CALL)

    assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"


@pytest.mark.anyio
async def test_a_rewrite_reaches_a_tool_of_the_host_under_its_own_names(gemini):
    guarded = Guarded(gemini, {"BeforeTool": [specific(tool_input={"command": "ls"})]})
    guarded.made(tools=OWN_SHELL)

    answer = await guarded.answer("PreToolUse", **OWN_CALL)

    assert answer["hookSpecificOutput"]["updatedInput"] == {"cmd": "ls", "when": "now"}


@pytest.mark.anyio
async def test_a_hidden_result_of_a_tool_of_the_host_has_the_form_of_one(gemini):
    guarded = Guarded(gemini, {"AfterTool": [stdout(decision="deny", reason="secret")]})
    guarded.made(tools=OWN_SHELL)

    parts = [{"type": "text", "text": "KEY"}]
    answer = await guarded.answer("PostToolUse", **OWN_CALL, tool_response=parts)

    assert guarded.seen[0].tool_name == "run_shell_command"
    assert "KEY" in guarded.seen[0].tool_response["llmContent"]
    new = answer["hookSpecificOutput"]["updatedToolOutput"]
    assert new == [{"type": "text", "text": "secret"}]


@pytest.mark.parametrize("agent", ["gemini", "claude"])
@pytest.mark.parametrize("tool", ["shell", "write_file", "edit_file", "glob", "write_todos"])
@pytest.mark.anyio
async def test_a_text_replaces_the_result_of_any_tool_of_the_host(tmp_path, agent, tool):
    guarded = Guarded(World(tmp_path, agent=agent), {})
    guarded.engine.register("after_tool", lambda _event: replace_result("[redacted]"))
    guarded.made(tools={"mcp__box__run": HostTool(tool)})

    parts = [{"type": "text", "text": "KEY"}]
    answer = await guarded.answer("PostToolUse", **OWN_CALL, tool_response=parts)

    assert "KEY" in str(guarded.seen[0].tool_response)
    new = answer["hookSpecificOutput"]["updatedToolOutput"]
    assert new == [{"type": "text", "text": "[redacted]"}]


@pytest.mark.anyio
async def test_a_hidden_result_of_another_tool_of_the_program_keeps_its_form(gemini):
    guarded = Guarded(gemini, {"AfterTool": [stdout(decision="deny", reason="secret")]})
    guarded.made(tools={"REPL": "shell"})

    answer = await guarded.answer("PostToolUse", tool_name="REPL", tool_input={})

    assert answer["hookSpecificOutput"]["updatedToolOutput"]["stdout"] == "secret"


# -- when something breaks


@pytest.mark.anyio
async def test_an_event_of_a_later_release_is_left_alone(gemini):
    guarded = Guarded(gemini)
    (matcher,) = guarded.hooks["Stop"]

    assert await matcher.hooks[0]({"hook_event_name": "MoonRise"}, None, {"signal": None}) == {}


@pytest.mark.anyio
async def test_what_cannot_be_decided_is_denied(gemini, caplog):
    guarded = Guarded(gemini)
    guarded.engine.close()

    answer = await guarded.answer("PreToolUse")

    assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert "engine is closed" in answer["hookSpecificOutput"]["permissionDecisionReason"]
    assert (await guarded.answer("UserPromptSubmit"))["decision"] == "block"
    assert await guarded.answer("Stop") == {}  # it would go round for ever
    assert await guarded.answer("Notification") == {}
    assert "PreToolUse could not be decided" in caplog.text


@pytest.mark.parametrize("value", [float("nan"), Path("a"), {1, 2}])
@pytest.mark.anyio
async def test_an_answer_that_is_no_json_can_be_sent_all_the_same(claude, value):
    guarded = Guarded(claude)
    guarded.engine.register("before_tool", lambda event: ask("sure?", tool_input={"x": value}))

    answer = await guarded.answer("PreToolUse")

    json.dumps(answer, allow_nan=False)
    assert answer["hookSpecificOutput"]["permissionDecision"] == "ask"


def test_a_hook_ends_when_the_program_no_longer_waits(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    world = World(tmp_path)
    world.settings(
        "project", {"hooks": {"BeforeTool": on(f"exec 3> {pipe}; echo up >&3; cat <&1")}}
    )
    hangs = Scenario("hangs", "", {}, [], {})
    ended = anyio.Event()

    class Impatient(Program):
        async def turn(self, prompt: str) -> str:
            (matcher,) = self.hooks["PreToolUse"]
            number, _ = self.ask(self.request("PreToolUse", *matcher["hookCallbackIds"]))
            reader = await anyio.to_thread.run_sync(pipe.open)
            with reader:
                assert await anyio.to_thread.run_sync(reader.readline) == "up\n"
                self.send({"type": "control_cancel_request", "request_id": number})
                assert await anyio.to_thread.run_sync(reader.read) == ""  # no process has it open
            await ended.wait()
            return "over"

    async def main() -> Seen:
        program = Impatient(hangs, Seen(), world.project)
        async with world.load() as engine:
            hooks = hooks_of(engine)
            (callback,) = hooks["PreToolUse"][0].hooks

            async def watched(*given: Any) -> Any:
                try:
                    return await callback(*given)
                finally:
                    ended.set()

            hooks["PreToolUse"] = [HookMatcher(hooks=[watched])]
            options = ClaudeAgentOptions(hooks=hooks)
            async for _ in query(prompt="go", options=options, transport=program):
                pass
        return program.seen

    assert asyncio.run(main()).shown == ["over"]


def test_two_agents_at_once_keep_their_sessions_apart(tmp_path):
    world = World(tmp_path)
    world.settings("project", {"hooks": {"BeforeAgent": on(stdout())}})
    shown: list[tuple[str, str, str]] = []

    def watch(event: Any, _decision: Any) -> None:
        shown.append((event.name, event.session_id, getattr(event, "prompt", "")))

    async def main() -> None:
        async with world.load() as engine:
            hooks = hooks_of(engine, on_decision=watch)
            async with anyio.create_task_group() as group:
                for name in ("one", "two"):
                    group.start_soon(live_one, name, ClaudeAgentOptions(hooks=hooks))

    async def live_one(name: str, options: ClaudeAgentOptions) -> None:
        call = {"tool": "shell", "args": {"command": name}}
        scenario = Scenario(name, "", {}, [call, f"{name} is done"], {}, prompts=[f"do {name}"])
        program = Program(scenario, Seen(), world.project, session=name)
        async for _ in query(prompt=prompts(scenario), options=options, transport=program):
            pass
        assert program.seen.shown == [f"{name} is done"]

    asyncio.run(main())

    events = ["before_prompt", "before_tool", "after_tool", "after_agent"]
    for name in ("one", "two"):
        own = [one for one in shown if one[1] == name]
        assert [one[0] for one in own] == events
        assert own[-1][2] == f"do {name}"


# -- the line of the documentation


def test_one_line_guards_a_project(gemini, monkeypatch):
    gemini.settings("project", {"hooks": {"BeforeTool": on({"exit": 2, "stderr": "no"})}})
    monkeypatch.chdir(gemini.project)
    hooks = anyhook_hooks(trust_once=True, home=gemini.home, environ=gemini.environ)

    scenario = Scenario("line", "", {}, [{"tool": "shell", "args": {"command": "ls"}}, "ok"], {})
    program = Program(scenario, Seen(), gemini.project)

    async def main() -> list[str]:
        options = ClaudeAgentOptions(hooks=hooks)
        stream = query(prompt="go", options=options, transport=program)
        return [type(message).__name__ async for message in stream]

    assert asyncio.run(main()) == ["ResultMessage"]
    assert program.seen.ran == []
    assert "no" in program.seen.sent[1]

"""What a type checker accepts, and the types that it infers."""

from __future__ import annotations

from typing import Any, assert_type

from pydantic_ai import Agent as PydanticAgent

from anyhook import AfterAgent, AfterTool, BeforeModel, BeforeTool, Engine, Event, SyncEngine
from anyhook.authoring import (
    Agent,
    Answer,
    EditFile,
    Grep,
    Hooks,
    ReadFile,
    Shell,
    WebSearch,
    WriteFile,
    allow,
    change_request,
    context,
    defer,
    deny,
    message,
    replace_result,
    respond,
    stop,
)
from anyhook.integrations import LoadOptions, Session
from anyhook.integrations.claude_sdk import anyhook_hooks
from anyhook.integrations.pydantic_ai import AnyhookHooks
from anyhook.model.answers import Outcome
from anyhook.model.llm import LLMRequest

hooks = Hooks()


@hooks.before_tool("shell")
def guard(event: BeforeTool[Shell]) -> Answer | None:
    assert_type(event.call, Shell)
    assert_type(event.call.command, str)
    assert_type(event.call.timeout, float | None)
    assert_type(event.call.background, bool | None)
    assert_type(event.call.dangerouslyDisableSandbox, bool | None)
    if event.call.command.startswith("sudo"):
        return deny("not that")
    return event.rewrite(command="ls", system_message="shorter")


@hooks.before_tool("Grep")
def search(event: BeforeTool[Grep]) -> None:
    assert_type(event.call.pattern, str)
    assert_type(event.call.output_mode, str | None)
    assert_type(event.call.type, str | None)
    assert_type(event.call.ignore_case, bool | None)
    assert_type(event.call.head_limit, int | None)


@hooks.before_tool("agent")
def delegate(event: BeforeTool[Agent]) -> None:
    assert_type(event.call.prompt, str)
    assert_type(event.call.model, str | None)
    assert_type(event.call.background, bool | None)
    assert_type(event.call.isolation, str | None)


@hooks.before_tool("write_file", "edit_file")
def write(event: BeforeTool[WriteFile | EditFile]) -> None:
    assert_type(event.call.file_path, str)


@hooks.before_tool("read_file")
def read(event: BeforeTool[ReadFile]) -> None:
    assert_type(event.call.pages, str | None)


@hooks.before_tool("web_search")
def web(event: BeforeTool[WebSearch]) -> None:
    assert_type(event.call.allowed_domains, list[str] | None)


@hooks.before_tool
def any_tool(event: BeforeTool) -> Answer | None:
    assert_type(event.call.command, str | None)
    if isinstance(event.call, Shell):
        assert_type(event.call.command, str)
    return None


@hooks.after_tool("shell")
async def after(event: AfterTool[Shell]) -> Answer | None:
    assert_type(event.result.exit_code, int | None)
    assert_type(event.result.success, bool | None)
    assert_type(event.result.replacement_count, int | None)
    assert_type(event.result.line_count, int | None)
    assert_type(event.result.truncated, bool | None)
    return allow()


@hooks.after_agent
def again(event: AfterAgent) -> Answer | None:
    assert_type(event.stop_hook_active, bool)
    return None


@hooks.before_model
def model(event: BeforeModel) -> None:
    assert_type(event.llm_request, LLMRequest)


@hooks.notification
def anything(event: Event) -> None:
    assert_type(event.session_id, str)


@hooks.subagent_stop("Explore")
def untyped(event):  # type: ignore[no-untyped-def]
    return None


hooks.example(tool="shell", input={"command": "sudo ls"}, expect="deny")
hooks.on("before_tool", "shell")(guard)
fields: dict[str, Any] = {}
allow(approve=True, context="x", **fields)
deny("no", stop=True, stop_reason="enough", system_message="x", suppress_output=True)
defer(reason="later", extra={"session_title": "x"})
stop("enough", context="x", clear_context=True)
context("x", outcome=Outcome.ALLOW, approve=True, system_message="y")
message("x", tool_config={"mode": "NONE"})
respond("x", reason="y")
replace_result({"any": ["json"]}, context="y")
change_request(model="x", config={"temperature": 0.5})

options: LoadOptions = {
    "agent": "gemini",
    "require": {"before_tool"},
    "on_message": print,
    "tools": {"bash": "shell"},
    "max_continuations": 2,
}
anyhook_hooks(".", agent="claude", trust_once=True, max_processes=4)
assert_type(Session(Engine.load(".")).stopped, str | None)
SyncEngine.load(".", require=True, on_message=print, ask=None)
with_hooks = PydanticAgent("test", capabilities=[AnyhookHooks.load(".")])
assert_type(with_hooks, PydanticAgent[object, str])

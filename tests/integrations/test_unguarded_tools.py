"""In every framework, a tool that no hook applies to is reported before it runs, or is an error."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass, field
from typing import Any

import pytest
from agents.testing import ScriptedModel, assistant_message, function_call
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.runners import InMemoryRunner
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import StructuredTool
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

from agents import Agent as OpenAIAgent
from agents import function_tool
from anyhook import Engine, RequiredHooksError, UsageError
from anyhook.agents import AGENTS, get_agent
from anyhook.integrations import HostTool, HostTools, Session
from anyhook.integrations.adk import AnyhookPlugin
from anyhook.integrations.claude_sdk import anyhook_hooks
from anyhook.integrations.langchain import AnyhookMiddleware
from anyhook.integrations.openai_agents import AnyhookRunner
from anyhook.integrations.pydantic_ai import AnyhookHooks
from anyhook.model.tools import TOOLS
from tests.integrations import adk, langchain_

COMMAND = "rm -rf /"
SHELL = HostTool("shell", {"cmd": "command"})


@dataclass
class Trial:
    """Two runs of an agent whose tool is a shell, and what was seen of them.

    Attributes:
        calls: Whether the model calls the tool; otherwise it says a word.
        ran: The commands that the tool ran.
        messages: What the program got about tools.
        all_messages: Everything that it got.
    """

    calls: bool = True
    ran: list[str] = field(default_factory=list)
    all_messages: list[str] = field(default_factory=list)

    @property
    def messages(self) -> list[str]:
        return [text for text in self.all_messages if "[unmatched-tool]" in text]

    def shell(self, cmd: str) -> str:
        """Run a command."""
        self.ran.append(cmd)
        return "ran"


async def run_adk(trial: Trial, project: Any, options: dict[str, Any]) -> None:
    async def run_command(cmd: str) -> str:
        return trial.shell(cmd)

    call = (
        [adk.model_content({"tool": "run_command", "args": {"cmd": COMMAND}})]
        if trial.calls
        else []
    )
    model = adk.Model.create([*call, adk.model_content("done"), *call, adk.model_content("done")])
    agent = LlmAgent(name="agent", model=model, tools=[run_command])
    app = App(name="app", root_agent=agent, plugins=[AnyhookPlugin.load(project, **options)])
    async with InMemoryRunner(app=app) as runner:
        for _ in range(2):
            session = await runner.session_service.create_session(app_name="app", user_id="u")
            async for _event in runner.run_async(
                user_id="u", session_id=session.id, new_message=adk.user("hello")
            ):
                pass


async def run_langchain(trial: Trial, project: Any, options: dict[str, Any]) -> None:
    says = [{"tool": "run_command", "args": {"cmd": COMMAND}}] if trial.calls else []
    model = langchain_.Scripted(messages=langchain_.says([*says, "done", *says, "done"]))
    tool = StructuredTool.from_function(trial.shell, name="run_command")
    hooks = AnyhookMiddleware.load(project, **options)
    agent = create_agent(model, [tool], middleware=[hooks])
    for _ in range(2):
        state = await agent.ainvoke(langchain_.prompt_of("hello"))
        assert isinstance(state["messages"][-1], AIMessage)


async def run_openai(trial: Trial, project: Any, options: dict[str, Any]) -> None:
    @function_tool
    async def run_command(cmd: str) -> str:
        return trial.shell(cmd)

    says = [[function_call("run_command", {"cmd": COMMAND}, call_id="c")]] if trial.calls else []
    done = [assistant_message("done")]
    model = ScriptedModel([*says, done, *says, done])
    agent = OpenAIAgent(name="agent", model=model, tools=[run_command])
    runner = AnyhookRunner.load(project, **options)
    for _ in range(2):
        await runner.run(agent, "hello")


async def run_pydantic(trial: Trial, project: Any, options: dict[str, Any]) -> None:
    says = [ToolCallPart("run_command", {"cmd": COMMAND})] if trial.calls else []
    parts = iter([*says, TextPart("done"), *says, TextPart("done")])
    hooks = AnyhookHooks.load(project, **options)
    model = FunctionModel(lambda _messages, _info: ModelResponse(parts=[next(parts)]))
    agent = PydanticAgent(model, capabilities=[hooks])
    agent.tool_plain(trial.shell, name="run_command")
    for _ in range(2):
        await agent.run("hello")


async def run_claude_sdk(trial: Trial, project: Any, options: dict[str, Any]) -> None:
    """Answer as the program asks: it runs the tools of the host's own server."""
    tools = {f"mcp__box__{name}": tool for name, tool in (options.pop("tools", None) or {}).items()}
    hooks = anyhook_hooks(project, tools=tools, **options)
    (matcher,) = hooks["PreToolUse"]
    payload = {
        "hook_event_name": "PreToolUse",
        "session_id": "s1",
        "transcript_path": "",
        "cwd": str(project),
        "tool_name": "mcp__box__run_command",
        "tool_input": {"cmd": COMMAND},
    }
    for _ in range(2):
        answer: Any = await matcher.hooks[0](payload, None, {"signal": None})
        if answer.get("hookSpecificOutput", {}).get("permissionDecision") != "deny":
            trial.shell(COMMAND)


WITH_KNOWN_TOOLS = {
    "adk": run_adk,
    "langchain": run_langchain,
    "openai_agents": run_openai,
    "pydantic_ai": run_pydantic,
}
RUNS = {**WITH_KNOWN_TOOLS, "claude_sdk": run_claude_sdk}
in_every_framework = pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
where_tools_are_known = pytest.mark.parametrize(
    "run", WITH_KNOWN_TOOLS.values(), ids=WITH_KNOWN_TOOLS
)


def live(run: Any, trial: Trial, project: Any, **options: Any) -> None:
    """Run an agent twice with the project's hooks."""
    options = {"trust_once": True, "on_message": trial.all_messages.append, **options}
    asyncio.run(run(trial, project, options))


@pytest.fixture
def guard(project):
    """Write a guard into the settings of a project; returns the function that writes it."""

    def write(matcher: str, command: str = "echo blocked >&2; exit 2") -> Any:
        deny = {"type": "command", "name": "guard.py", "command": command}
        hooks = {"PreToolUse": [{"matcher": matcher, "hooks": [deny]}]}
        path = project / ".claude" / "settings.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"hooks": hooks}, indent=1))
        return project

    return write


@in_every_framework
def test_a_tool_that_no_hook_matches_is_reported_once_with_the_line_to_write(run, guard):
    trial = Trial()

    live(run, trial, guard("Bash"))

    assert trial.ran == [COMMAND, COMMAND]
    (message,) = trial.messages
    name = re.search(r"(mcp__box__)?run_command", message)[0]
    assert message == (
        f"warning[unmatched-tool]: tool '{name}' of this agent is one that no hook applies to "
        "(guard.py at .claude/settings.json:7 listens to Bash); if it is a shell, name it: "
        f'tools={{"{name}": HostTool("shell", {{"cmd": "command"}})}}'
    )


@where_tools_are_known
def test_it_is_reported_before_the_model_is_asked(run, guard):
    trial = Trial(calls=False)

    live(run, trial, guard("Bash"))

    assert len(trial.messages) == 1


@in_every_framework
@pytest.mark.parametrize("word", ["shell", "Bash"])
def test_a_named_tool_is_guarded(run, guard, word):
    trial = Trial()

    live(run, trial, guard("Bash"), tools={"run_command": HostTool(word, {"cmd": "command"})})

    assert trial.ran == []
    assert trial.messages == []


@in_every_framework
def test_a_named_tool_whose_argument_hooks_do_not_read_is_reported(run, guard):
    trial = Trial()

    live(run, trial, guard("Bash"), tools={"run_command": "shell"})

    (message,) = trial.messages
    assert "they read 'command', and its argument is 'cmd'" in message
    assert 'HostTool("shell", {"cmd": "command"})' in message


@in_every_framework
def test_a_hook_on_every_tool_gives_no_message(run, guard):
    trial = Trial()

    live(run, trial, guard("*"))

    assert trial.ran == []
    assert trial.messages == []


@pytest.fixture
def hook_file(guard):
    """Write a guard that asks what a call runs, for every tool; returns the project."""
    project = guard("*", "python3 guard.py")
    (project / "guard.py").write_text(
        "from anyhook.authoring import Hooks, deny\n"
        "hooks = Hooks()\n"
        "@hooks.before_tool\n"
        "def guard(event):\n"
        "    return deny('no') if event.runs('rm') else None\n"
        "if __name__ == '__main__':\n"
        "    hooks.run()\n"
    )
    return project


@in_every_framework
def test_a_tool_whose_calls_a_hook_file_cannot_read_is_reported(run, hook_file):
    trial = Trial()

    live(run, trial, hook_file)

    assert trial.ran == [COMMAND, COMMAND]
    (message,) = trial.messages
    name = re.search(r"(mcp__box__)?run_command", message)[0]
    assert message == (
        f"warning[unmatched-tool]: hooks do not see what tool '{name}' of this agent does, because "
        "it is not a tool of Claude Code (guard.py at .claude/settings.json:7); if it is a shell, "
        f'name it: tools={{"{name}": HostTool("shell", {{"cmd": "command"}})}}'
    )


@in_every_framework
def test_a_tool_whose_calls_a_required_hook_file_cannot_read_does_not_run(run, hook_file):
    trial = Trial()

    if run is run_claude_sdk:  # the program gets a denial in place of the error
        live(run, trial, hook_file, require=True)
    else:
        with pytest.raises((RequiredHooksError, RuntimeError), match="'run_command'"):
            live(run, trial, hook_file, require=True)

    assert trial.ran == []


@in_every_framework
@pytest.mark.parametrize("require", [True, {"before_tool"}])
def test_a_tool_that_escapes_a_required_guard_does_not_run(run, guard, require):
    trial = Trial()

    if run is run_claude_sdk:  # the program gets a denial in place of the error
        live(run, trial, guard("Bash"), require=require)
    else:
        # ADK raises its own error for one of a plugin.
        with pytest.raises((RequiredHooksError, RuntimeError), match="'run_command'") as error:
            live(run, trial, guard("Bash"), require=require)
        assert RequiredHooksError in map(type, (error.value, error.value.__cause__))

    assert trial.ran == []


@in_every_framework
@pytest.mark.parametrize("require", [True, {"before_tool"}])
def test_a_required_guard_that_is_deleted_after_the_first_call_ends_the_next(run, guard, require):
    project = guard("*", "./guard.sh")
    script = project / "guard.sh"
    script.write_text('#!/bin/sh\nrm "$0"\n')
    script.chmod(0o755)
    trial = Trial()

    if run is run_claude_sdk:  # the program gets a denial in place of the error
        live(run, trial, project, require=require)
    else:
        # Some frameworks raise an error of their own.
        with pytest.raises(Exception, match=r"guard\.sh does not exist") as error:
            live(run, trial, project, require=require)
        assert RequiredHooksError in map(type, (error.value, error.value.__cause__))

    assert trial.ran == [COMMAND]


@where_tools_are_known
def test_the_error_comes_before_the_model_is_asked(run, guard):
    trial = Trial(calls=False)

    with pytest.raises((RequiredHooksError, RuntimeError), match="'run_command'"):
        live(run, trial, guard("Bash"), require=True)


@in_every_framework
def test_a_tool_that_the_host_exempts_is_neither_reported_nor_an_error(run, guard):
    trial = Trial()

    live(run, trial, guard("Bash"), tools={"run_command": None}, require=True)

    assert trial.ran == [COMMAND, COMMAND]
    assert trial.messages == []


@where_tools_are_known
def test_a_misspelt_name_of_a_tool_is_reported(run, guard):
    trial = Trial()

    live(run, trial, guard("Bash"), tools={"run_comand": SHELL})

    text = "names 'run_comand', which is not a tool of this agent; did you mean 'run_command'?"
    assert sum(text in message for message in trial.messages) == 1


@where_tools_are_known
def test_a_misspelt_name_of_an_argument_is_reported(run, guard):
    trial = Trial()

    live(run, trial, guard("Bash"), tools={"run_command": HostTool("shell", {"cmt": "command"})})

    text = "the argument 'cmt' of 'run_command', which does not exist; it has cmd"
    assert sum(text in message for message in trial.messages) == 1


def test_a_name_without_its_server_is_reported_when_the_hooks_are_made(guard):
    messages = []
    options = {"trust_once": True, "on_message": messages.append, "tools": {"run_command": SHELL}}

    anyhook_hooks(guard("Bash"), **options)

    text = "tools= names 'run_command', which the program calls 'mcp__SERVER__run_command'"
    assert sum(text in message for message in messages) == 1
    with pytest.raises(RequiredHooksError, match="mcp__SERVER__run_command"):
        anyhook_hooks(guard("Bash"), require={"before_tool"}, **options)


@in_every_framework
@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("shel", "did you mean 'shell'?"),
        ("run_shell_command", "did you mean 'shell'?"),
        (HostTool("shell", {"cmd": "comand"}), "did you mean 'command'?"),
        (7, "write the name of a tool"),
    ],
)
def test_a_wrong_value_is_an_error(run, guard, tool, text):
    trial = Trial()

    with pytest.raises(UsageError, match=re.escape(text)):
        live(run, trial, guard("Bash"), tools={"run_command": tool})


class TestSessions:
    """In a loop of the program's own, tools are checked when they are offered or called."""

    def test_a_call_of_a_tool_that_no_hook_matches_is_reported_once(self, guard):
        messages = []

        async def run():
            engine = Engine.load(guard("Bash"), trust_once=True, on_message=messages.append)
            for _ in range(2):
                async with Session(engine) as session:
                    for _ in range(2):
                        assert (await session.before_tool("run_command", {"cmd": COMMAND})).allowed

        asyncio.run(run())

        assert [text for text in messages if "[unmatched-tool]" in text] == messages
        assert len(messages) == 1

    def test_a_call_that_escapes_a_required_guard_is_an_error_each_time(self, guard):
        async def run():
            engine = Engine.load(guard("Bash"), trust_once=True, require={"before_tool"})
            async with Session(engine) as session:
                session.tool_checks.offer(["get_weather"])
                for _ in range(2):
                    with pytest.raises(RequiredHooksError, match="run_command"):
                        session.tool_checks.offer(["run_command"], lambda _name: ["cmd"])
                    with pytest.raises(RequiredHooksError, match="run_command"):
                        await session.before_tool("run_command", {"cmd": COMMAND})

        asyncio.run(run())

    def test_a_tool_whose_kind_is_not_plain_can_be_exempted(self, guard):
        messages = []

        async def run():
            engine = Engine.load(guard("Bash"), trust_once=True, on_message=messages.append)
            async with Session(engine) as session:
                session.tool_checks.offer(["get_weather"], lambda _name: ["city"])

        asyncio.run(run())

        (message,) = messages
        assert 'name it, like tools={"get_weather": "shell"}' in message
        assert 'if not, write tools={"get_weather": None}' in message

    @pytest.mark.parametrize("name", ["PowerShell", "Monitor"])
    def test_a_guard_on_one_name_of_the_agent_sees_that_name(self, guard, name):
        async def run():
            engine = Engine.load(guard(name), trust_once=True)
            async with Session(engine, tools={"run": name}) as session:
                return await session.before_tool("run", {"command": COMMAND})

        assert not asyncio.run(run()).allowed


@pytest.mark.parametrize("name", AGENTS)
def test_canonical_and_own_names_of_every_agent_are_accepted(name):
    agent = get_agent(name)
    words = [*TOOLS, *agent.tools, *agent.vocabulary.canonical]

    tools = HostTools(agent, {f"host-{word}": word for word in words})

    for word in agent.tools:
        if word not in TOOLS:
            assert tools.shown_name(f"host-{word}") == word
    for word, row in agent.vocabulary.tools.items():
        assert tools.shown_name(f"host-{word}") == row.names[0]

"""Every integration loads the hooks of a project, and a guard is never silently absent."""

from __future__ import annotations

import asyncio
import importlib
import json
import subprocess
import sys
from typing import Any

import anyio
import pytest
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import HumanMessage
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

from anyhook import Engine, RequiredHooksError, UsageError
from anyhook.extras import needs_extra
from anyhook.integrations import Session
from anyhook.integrations.adk import AnyhookPlugin
from anyhook.integrations.claude_sdk import anyhook_hooks, hooks_of
from anyhook.integrations.langchain import LANGCHAIN, AnyhookMiddleware
from anyhook.integrations.openai_agents import AnyhookRunner
from anyhook.integrations.pydantic_ai import PYDANTIC_AI, AnyhookHooks

LOADERS: dict[str, Any] = {
    "adk": AnyhookPlugin.load,
    "langchain": AnyhookMiddleware.load,
    "openai_agents": AnyhookRunner.load,
    "pydantic_ai": AnyhookHooks.load,
    "claude_sdk": anyhook_hooks,
}
DENY_ALL = {"hooks": [{"type": "command", "command": "echo blocked >&2; exit 2"}]}


def write_hooks(path, *events):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"hooks": {event: [DENY_ALL] for event in events}}))


@pytest.fixture
def gemini_project(project):
    write_hooks(project / ".gemini" / "settings.json", "BeforeTool")
    return project


@pytest.fixture
def claude_project(project):
    write_hooks(project / ".claude" / "settings.json", "PreToolUse")
    return project


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ask": "yes"}, "ask is a function, not 'yes'"),
        ({"on_decision": 7}, "on_decision is a function, not 7"),
        ({"tools": ["bash"]}, "tools is a dict, like .*, not \\['bash'\\]"),
        ({"max_continuations": "3"}, "max_continuations is a number, 0 for no limit, not '3'"),
        ({"max_continuations": -1}, "max_continuations is a number, 0 for no limit, not -1"),
    ],
)
def test_a_value_of_the_wrong_type_is_an_error_at_once(claude_project, options, message):
    engine = Engine.load(claude_project, trust_once=True)

    with pytest.raises(UsageError, match=message):
        Session(engine, **options)


@pytest.mark.parametrize("load", LOADERS.values(), ids=LOADERS)
class TestEveryIntegration:
    def test_reports_hooks_of_an_untrusted_project(self, load, gemini_project):
        messages = []

        load(gemini_project, on_message=messages.append)

        (message,) = messages
        assert "not trusted" in message

    def test_reports_to_the_logger_without_a_function(self, load, gemini_project, caplog):
        load(gemini_project)

        assert caplog.text.count("not trusted") == 1

    def test_refuses_an_untrusted_project_whose_hooks_are_required(self, load, gemini_project):
        with pytest.raises(RequiredHooksError, match="not trusted"):
            load(gemini_project, require=True, on_message=str)

    def test_refuses_settings_that_cannot_be_read_if_hooks_are_required(self, load, project):
        (project / ".gemini").mkdir()
        (project / ".gemini" / "settings.json").write_text('{"hooks": {')

        with pytest.raises(RequiredHooksError, match=r"settings\.json:1"):
            load(project, require={"before_tool"}, on_message=str)

    def test_loads_the_agent_that_has_hooks_in_the_project(self, load, claude_project, monkeypatch):
        messages = []
        (claude_project / "src").mkdir()
        monkeypatch.chdir(claude_project / "src")

        load(on_message=messages.append)

        (message,) = messages
        assert str(claude_project / ".claude" / "settings.json") in message
        assert "not trusted" in message

    def test_refuses_an_unknown_option(self, load, gemini_project):
        with pytest.raises(TypeError, match="max_rounds"):
            load(gemini_project, on_message=str, max_rounds=1)

    def test_refuses_to_choose_between_several_agents(self, load, gemini_project):
        write_hooks(gemini_project / ".claude" / "settings.json", "PreToolUse")

        with pytest.raises(UsageError, match="one of: gemini, claude"):
            load(gemini_project)


@pytest.mark.parametrize(
    "make", [Session, AnyhookPlugin, AnyhookMiddleware, AnyhookRunner, AnyhookHooks, hooks_of]
)
def test_an_unknown_option_beside_an_engine_is_refused(make, project):
    with pytest.raises(TypeError, match="unexpected keyword argument: max_rounds"):
        make(Engine.load(project, on_message=str), max_rounds=1)


class TestRequiredHooksOnEventsThatNeverFire:
    @pytest.mark.parametrize("framework", [LANGCHAIN, PYDANTIC_AI], ids=lambda f: f.title)
    @pytest.mark.parametrize("require", [True, {"PreCompress"}, {"before_compress"}])
    def test_end_the_start_of_a_session(self, project, framework, require):
        write_hooks(project / ".gemini" / "settings.json", "PreCompress")
        engine = Engine.load(project, trust_once=True, require=require)
        seen = []
        session = Session(
            engine,
            framework=framework,
            on_message=str,
            on_decision=lambda event, _decision: seen.append(event.name),
        )

        async def run():
            async with session:
                await session.prompt("hello")

        with pytest.raises(
            RequiredHooksError, match=f"{framework.title} does not fire PreCompress"
        ):
            asyncio.run(run())
        assert seen == []

    def test_are_an_error_when_the_hooks_of_the_claude_sdk_are_made(self, project):
        write_hooks(project / ".gemini" / "settings.json", "BeforeModel")
        engine = Engine.load(project, trust_once=True, require=True)

        with pytest.raises(RequiredHooksError, match="does not fire BeforeModel"):
            hooks_of(engine, on_message=str)

    def test_do_not_matter_if_other_hooks_are_required(self, project):
        write_hooks(project / ".gemini" / "settings.json", "PreCompress", "BeforeTool")
        engine = Engine.load(project, trust_once=True, require={"before_tool"})

        async def run():
            async with Session(engine, framework=LANGCHAIN, on_message=str):
                pass

        asyncio.run(run())


class TestAnEngineOfTheProgram:
    """Its own receiver got the problems of loading; that of the integration gets them, too."""

    @pytest.fixture
    def engine(self, project):
        (project / ".gemini").mkdir()
        (project / ".gemini" / "settings.json").write_text('{"hooks": {')
        return Engine.load(project, trust_once=True, on_message=str)

    def test_reports_broken_settings_to_langchain(self, engine):
        messages = []
        hooks = AnyhookMiddleware(engine, on_message=messages.append)
        agent = create_agent(GenericFakeChatModel(messages=iter(["hi"])), middleware=[hooks])

        agent.invoke({"messages": [HumanMessage("hello")]})

        (message,) = messages
        assert "settings-syntax" in message

    def test_reports_broken_settings_to_pydantic_ai(self, engine):
        messages = []
        hooks = AnyhookHooks(engine, on_message=messages.append)

        asyncio.run(Agent(TestModel(), capabilities=[hooks]).run("hello"))

        (message,) = messages
        assert "settings-syntax" in message


class TestBrokenHooks:
    """Hooks that cannot do their work are reported when a session starts."""

    @pytest.fixture
    def engine(self, project):
        handler = {"type": "command", "command": "sh hooks/guard.sh"}
        path = project / ".claude" / "settings.json"
        path.parent.mkdir(parents=True)
        definition = {"matcher": "Bash", "hooks": [handler]}
        path.write_text(json.dumps({"hooks": {"PreToolUse": [definition]}}))
        return Engine.load(project, agent="claude", trust_once=True, on_message=lambda _text: None)

    def assert_reported(self, messages):
        (message,) = messages
        assert "'guard.sh' does not work: " in message
        assert "settings.json:1" in message

    @pytest.mark.parametrize("backend", ["asyncio", "trio"])
    def test_of_a_session(self, engine, backend):
        messages = []

        async def run():
            async with Session(engine, on_message=messages.append):
                pass

        anyio.run(run, backend=backend)

        self.assert_reported(messages)

    def test_of_the_claude_sdk(self, engine):
        messages = []

        hooks_of(engine, on_message=messages.append)

        self.assert_reported(messages)

    def test_are_not_reported_if_they_work(self, engine, project):
        messages = []
        script = project / "hooks" / "guard.sh"
        script.parent.mkdir()
        script.write_text("exit 2\n")

        hooks_of(engine, on_message=messages.append)

        assert messages == []


@pytest.mark.parametrize(
    ("package", "module", "extra"),
    [
        ("adk", "google.adk", "adk"),
        ("langchain", "langchain", "langchain"),
        ("openai_agents", "agents", "openai-agents"),
        ("pydantic_ai", "pydantic_ai", "pydantic-ai"),
        ("claude_sdk", "claude_agent_sdk", "claude-agent-sdk"),
    ],
)
def test_a_framework_that_is_not_installed_is_named_with_its_extra(package, module, extra):
    program = (
        f"import sys; sys.modules[{module!r}] = None\n"
        f"try:\n    import anyhook.integrations.{package}\n"
        "except ImportError as error:\n    print(error)\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert f"anyhook.integrations.{package} needs " in done.stdout
    assert f"the extra anyhook[{extra}]" in done.stdout
    assert " install " in done.stdout


def test_a_missing_module_of_anyhook_is_not_one_of_a_framework():
    missing = pytest.raises(ModuleNotFoundError, match=r"^No module named 'anyhook\.nothing'$")
    with missing, needs_extra("anyhook.integrations.adk", "Google ADK", "adk"):
        importlib.import_module("anyhook.nothing")


@pytest.mark.parametrize(
    ("option", "instead"),
    [("ask", "can_use_tool="), ("max_continuations", "max_turns="), ("transcript", "transcript")],
)
def test_options_that_the_claude_sdk_has_itself_are_refused_with_its_own(project, option, instead):
    options: Any = {option: None}
    with pytest.raises(TypeError, match=f"argument: {option}; .*{instead}"):
        anyhook_hooks(project, **options)
    with pytest.raises(TypeError, match=f"argument: {option}; .*{instead}"):
        hooks_of(Engine.load(project, agent="claude"), **options)

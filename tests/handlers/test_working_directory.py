"""Where a command of the settings starts, and which variables it gets there."""

from __future__ import annotations

import asyncio

import pytest

from anyhook import BeforeTool, TrustStore
from anyhook.agents import get_agent
from anyhook.agents.spec.settings import HandlerField
from anyhook.engine.engine import Engine
from anyhook.model.layers import Layer
from anyhook.model.status import Status
from anyhook.settings.sources import Location
from tests.world import World

CLAUDE = get_agent("claude")
COMMAND = CLAUDE.settings.handler_types["command"]
WITH_CWD = COMMAND.replace(fields={**COMMAND.fields, "cwd": HandlerField("cwd", "string")})
CUSTOM = CLAUDE.replace(
    name="custom",  # parsed files are kept by the name of the agent
    hook_environment={"ROOT": "root", "CLAUDE_PROJECT_DIR": "project_dir"},
    protected_environment=frozenset({"ROOT"}),
)
AGENT = CUSTOM.with_settings(
    handler_types={"command": WITH_CWD},
    handler_fields=CLAUDE.settings.handler_fields | {"env"},
)


@pytest.fixture
def load(tmp_path):
    """Return a function that loads an engine with one hook on tool calls."""

    def make(agent, store=None, project="project", rules=None, **members):
        world = World(tmp_path, project=project, agent="claude")
        handler = {"type": "command", "command": "pwd", **members}
        world.settings("project", {"hooks": {"PreToolUse": [{"hooks": [handler]}]}})
        engine = world.load(trust_once=store is None, trust_store=store)
        loaded = Engine(
            Location.of(world.project, home=world.home, environ=world.environ),
            agent,
            rules="documented",
            store=store,
            watch=False,
            redact=None,
            max_processes=4,
            output_limit=100_000,
            warm=False,
            services=engine._host_services,
            on_message=lambda _text: None,
        )
        if rules is not None:
            loaded.rules = rules
        return loaded

    return make


def run(engine, cwd=""):
    call = BeforeTool(tool_name="Bash", tool_input={}, cwd=cwd)
    (result,) = asyncio.run(engine.dispatch(call)).results
    return result


def test_a_command_runs_in_the_directory_of_the_event(load, tmp_path):
    below = tmp_path / "project" / "below"
    below.mkdir(parents=True)

    assert run(load(AGENT), cwd=str(below)).stdout.strip() == str(below)


def test_a_command_can_run_in_a_directory_of_its_own(load, tmp_path):
    below = tmp_path / "project" / "below"
    below.mkdir(parents=True)

    assert run(load(AGENT, cwd="below")).stdout.strip() == str(below)
    assert run(load(AGENT, cwd=str(tmp_path))).stdout.strip() == str(tmp_path)


def test_a_missing_directory_is_a_failure(load):
    result = run(load(AGENT, cwd="missing"))

    assert result.status is Status.FAILED
    assert result.failed


def test_commands_of_some_agents_start_in_the_root_of_the_repository(load, tmp_path):
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    (tmp_path / "repository" / ".git" / "HEAD").touch()
    engine = load(
        AGENT.with_settings(hook_directories={Layer.PROJECT: "root"}), project="repository/part"
    )
    root = str(tmp_path / "repository")

    assert run(engine, cwd=str(tmp_path / "repository" / "part")).stdout.strip() == root
    assert engine.guard.variables()["ROOT"] == root


def test_trust_is_bound_to_the_script_in_the_directory_of_the_command(load, tmp_path):
    script = tmp_path / "project" / "below" / "guard.sh"
    script.parent.mkdir(parents=True)
    script.write_text("echo ran")
    store = TrustStore(tmp_path / "trust.json")
    engine = load(AGENT, store, command="sh guard.sh", cwd="below")
    store.trust(engine.project_dir, engine.guard.subjects(), agent="claude")

    assert run(engine).stdout.strip() == "ran"
    script.write_text("echo changed")
    assert run(engine).status is Status.WITHHELD


def test_another_directory_is_another_definition(load, tmp_path):
    for name in ("one", "two"):
        (tmp_path / "project" / name).mkdir(parents=True)
    store = TrustStore(tmp_path / "trust.json")
    engine = load(AGENT, store, cwd="one")
    store.trust(engine.project_dir, engine.guard.subjects(), agent="claude")

    assert run(engine).status is Status.RAN
    assert run(load(AGENT, store, cwd="two")).status is Status.WITHHELD


def test_values_of_variables_can_be_literal(load):
    members = {"command": 'printf %s "$A"', "env": {"A": "$HOME/x"}}
    literal = AGENT.rules().replace(expands_handler_env=False)

    assert run(load(AGENT, **members)).stdout.endswith("/home/x")
    assert run(load(AGENT, rules=literal, **members)).stdout == "$HOME/x"


def test_a_hook_does_not_override_a_protected_variable(load, tmp_path):
    env = {"ROOT": "mine", "CLAUDE_PROJECT_DIR": "mine"}
    result = run(load(AGENT, command='echo "$ROOT $CLAUDE_PROJECT_DIR"', env=env))

    assert result.stdout.split() == [str(tmp_path / "project"), "mine"]

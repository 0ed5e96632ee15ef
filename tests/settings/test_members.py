"""Members of settings whose names and values differ between agents."""

from __future__ import annotations

import json

import pytest

from anyhook import BeforeTool
from anyhook.agents import AGENTS, get_agent
from anyhook.authoring.load import load_hooks as load_hook_file
from anyhook.errors import SettingsError
from anyhook.manage.adding import Installation, add_hook_file, remove_hook_file
from anyhook.migrate.merge import merge_into
from anyhook.migrate.plan import plan_migration
from anyhook.settings.sources import Location
from tests.settings.sample_agent import ENTRY
from tests.world import World

WRITE = BeforeTool(tool_name="Write", tool_input={})


@pytest.fixture
def world(tmp_path, monkeypatch):
    monkeypatch.setitem(AGENTS, "sample", ENTRY)
    return World(tmp_path, agent="sample")


def hooks(**members):
    handler = {"type": "command", "command": "exit 7", **members}
    return {"version": 1, "hooks": {"PreToolUse": [{"hooks": [handler]}]}}


def handler_of(world):
    engine = world.load()
    (definition,) = engine.definitions
    (handler,) = definition.handlers
    return handler, [diagnostic.code for diagnostic in engine.diagnostics]


@pytest.mark.parametrize(("value", "denies"), [(True, True), (False, False), (None, False)])
@pytest.mark.anyio
async def test_a_boolean_makes_a_failure_deny(world, value, denies):
    world.settings("user", hooks(failClosed=value))

    decision = await world.load().dispatch(WRITE)

    assert decision.denied is denies
    if denies:
        assert decision.reason.endswith("failed; blocking because failClosed is true")


@pytest.mark.parametrize("value", ["block", 1, [True]])
def test_another_value_than_a_boolean_is_reported(world, value):
    world.settings("user", hooks(failClosed=value))

    handler, codes = handler_of(world)

    assert handler.on_failure == "continue"
    assert codes == ["wrong-type"]


@pytest.mark.parametrize(("value", "limit"), [(3, 3), (0, 0), (2.5, 2.5), (None, None)])
def test_a_number_may_be_null(world, value, limit):
    world.settings("user", hooks(limit=value))

    handler, codes = handler_of(world)

    assert handler.options["limit"] == limit
    assert codes == []


@pytest.mark.parametrize("value", [True, "3", [], {}])
def test_another_value_than_a_number_is_left_out(world, value):
    world.settings("user", hooks(limit=value))

    handler, codes = handler_of(world)

    assert "limit" not in handler.options
    assert codes == ["wrong-type"]


def test_a_number_that_is_missing_is_not_null(world):
    world.settings("user", hooks())

    handler, _ = handler_of(world)

    assert "limit" not in handler.options


# -- members of the file


@pytest.mark.parametrize(
    ("settings", "codes", "line"),
    [
        ({"version": 1, "hooks": {}}, [], None),
        ({"hooks": {}}, ["required-member"], 1),
        ({"hooks": {}, "version": 2}, ["required-member"], 3),
        ({"hooks": {}, "version": "1"}, ["required-member"], 3),
        ({"other": 1}, [], None),
    ],
)
def test_a_member_that_every_file_with_hooks_has_is_checked(world, settings, codes, line):
    world.settings("user", settings)

    problems = world.load().diagnostics

    assert [problem.code for problem in problems] == codes
    assert [problem.place.line for problem in problems] == ([line] if line else [])
    assert all('write "version": 1' in problem.message for problem in problems)


def test_hooks_without_the_member_still_run(world):
    settings = hooks(limit=1)
    del settings["version"]
    world.settings("user", settings)

    _, codes = handler_of(world)

    assert codes == ["required-member"]


@pytest.fixture
def installation(world):
    file = world.write(
        world.project / "guard.py",
        "from anyhook.authoring import Hooks\n\nhooks = Hooks()\n\n"
        "@hooks.before_tool\ndef guard(event): ...\n",
    )
    return Installation(
        file, world.project, "project", ("anyhook", "run"), ("anyhook",), load_hook_file(file)
    )


def test_installing_writes_the_member_first(world, installation):
    edit = add_hook_file(get_agent("sample"), installation)

    assert list(json.loads(edit.after)) == ["version", "hooks"]
    assert json.loads(edit.after)["version"] == 1


def test_installing_keeps_a_member_that_is_there(world, installation):
    before = '{\n  // ours\n  "version": 1\n}\n'
    world.settings("project", before)

    edit = add_hook_file(get_agent("sample"), installation)

    assert edit.after.startswith('{\n  // ours\n  "version": 1,\n')


def test_installing_into_a_file_of_another_version_is_refused(world, installation):
    world.settings("project", {"version": 2})

    with pytest.raises(SettingsError, match="version has another value"):
        add_hook_file(get_agent("sample"), installation)


def test_uninstalling_leaves_the_member(world, installation):
    agent = get_agent("sample")
    world.settings("project", add_hook_file(agent, installation).after)

    (change,) = remove_hook_file(agent, world.project, "project", installation.file)

    assert json.loads(change.after) == {"version": 1}


def test_migrated_hooks_get_the_member(world):
    world.settings("project:claude", hooks())

    source, target = get_agent("claude"), get_agent("sample")
    migration = plan_migration(source, target, Location(world.project, world.home, {}))
    text, _ = merge_into(migration, "", "settings.json")

    assert list(json.loads(text)) == ["version", "hooks"]

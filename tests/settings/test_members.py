"""Members of settings whose names and values differ between agents."""

from __future__ import annotations

import json

import pytest

from anyhook import BeforeTool
from anyhook.agents import AGENTS, get_agent
from anyhook.errors import SettingsError
from anyhook.manage.hook_file_settings import (
    SettingsPlace,
    add_hook_files,
    load_hook_file,
    remove_hook_files,
)
from anyhook.migrate.plan import merge_into, plan_migration
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
def hook_file(world):
    file = world.write(
        world.project / "guard.py",
        "from anyhook.authoring import Hooks\n\nhooks = Hooks()\n\n"
        "@hooks.before_tool\ndef guard(event): ...\n\n"
        "if __name__ == '__main__':\n    hooks.run()\n",
    )
    return load_hook_file(file)


def add(world, hook_file):
    place = SettingsPlace(world.project, "project", ("anyhook", "run"), ("anyhook",))
    return add_hook_files(get_agent("sample"), place, [hook_file]).settings


def test_adding_hooks_writes_the_member_first(world, hook_file):
    edit = add(world, hook_file)

    assert list(json.loads(edit.after)) == ["version", "hooks"]
    assert json.loads(edit.after)["version"] == 1


def test_adding_hooks_keeps_a_member_that_is_there(world, hook_file):
    before = '{\n  // ours\n  "version": 1\n}\n'
    world.settings("project", before)

    edit = add(world, hook_file)

    assert edit.after.startswith('{\n  // ours\n  "version": 1,\n')


def test_adding_hooks_to_a_file_of_another_version_is_refused(world, hook_file):
    world.settings("project", {"version": 2})

    with pytest.raises(SettingsError, match="version has another value"):
        add(world, hook_file)


def test_removing_hooks_from_a_shared_file_leaves_the_member(world, hook_file):
    """What the file was like before is known only where the hooks were added."""
    agent = get_agent("sample")
    world.settings("project", add(world, hook_file).after)

    removed = remove_hook_files(agent, world.project, "project", [hook_file.path])

    assert json.loads(removed.settings.after) == {"version": 1}


def test_migrated_hooks_get_the_member(world):
    world.settings("project:claude", hooks())

    source, target = get_agent("claude"), get_agent("sample")
    migration = plan_migration(source, target, Location(world.project, world.home, {}))
    text, _ = merge_into(migration, "", "settings.json")

    assert list(json.loads(text)) == ["version", "hooks"]

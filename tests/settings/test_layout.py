"""Settings whose lists hold handlers, and whose handlers name their members in their own way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from anyhook.agents import get_agent
from anyhook.model.layers import Layer
from anyhook.settings.jsonc import parse
from anyhook.settings.kept import KeptHook, put_back, take_out
from anyhook.settings.layout import iter_definitions, own_entries
from anyhook.settings.reader import read_document
from anyhook.settings.sources import Source

GENERIC = get_agent("generic")
FLAT = GENERIC.with_settings(
    entries=("handler",),
    member_names={
        "command": ("bash", "command"),
        "timeout": ("timeoutSec", "timeout"),
        "program": ("exec",),
    },
    default_type="command",
)
EITHER = FLAT.with_settings(entries=("handler", "definition"))


def load(agent, hooks):
    text = json.dumps({"hooks": hooks}, indent=1)
    return read_document(
        agent, Source(Layer.PROJECT, Path("hooks.json")), parse(text, "hooks.json")
    )


def test_an_entry_of_a_flat_list_is_a_hook_with_its_matcher():
    file = load(
        FLAT, {"before_tool": [{"matcher": "shell", "bash": "./guard.sh", "timeoutSec": 3}]}
    )
    assert file.diagnostics == ()
    (definition,) = file.definitions
    assert (definition.matcher, definition.event) == ("shell", "before_tool")
    (handler,) = definition.handlers
    assert (handler.command, handler.timeout, handler.kind) == ("./guard.sh", 3.0, "command")
    assert handler.place == definition.place


def test_the_strongest_name_of_a_member_counts():
    file = load(
        FLAT,
        {"before_tool": [{"command": "weak", "bash": "strong", "timeout": 9, "timeoutSec": 3}]},
    )
    (handler,) = file.definitions[0].handlers
    assert (handler.command, handler.timeout) == ("strong", 3.0)


def test_a_program_runs_without_a_shell():
    file = load(FLAT, {"before_tool": [{"exec": "guard", "args": ["$HOME", "*"]}]})
    assert file.definitions[0].handlers[0].argv == ("guard", "$HOME", "*")


@pytest.mark.parametrize(
    ("entry", "member"),
    [
        ({"exec": "guard", "bash": "guard"}, "exec"),
        ({"exec": "guard", "args": "x"}, "exec"),
        ({"exec": ""}, "exec"),
        ({"bash": 5}, "bash"),
        ({"bash": "guard", "timeoutSec": -1}, "timeoutSec"),
    ],
)
def test_a_problem_names_the_member_as_it_is_written(entry, member):
    file = load(FLAT, {"before_tool": [entry]})
    (diagnostic,) = file.diagnostics
    line = json.dumps({"hooks": {"before_tool": [entry]}}, indent=1).splitlines()
    assert f'"{member}"' in line[diagnostic.place.line - 1]


def test_a_definition_in_a_flat_list_is_reported():
    file = load(FLAT, {"before_tool": [{"hooks": [{"bash": "guard"}]}]})
    assert file.definitions == ()
    assert [problem.code for problem in file.diagnostics] == ["wrong-type"]
    assert "with its matcher" in file.diagnostics[0].message


def test_an_agent_can_have_both_layouts():
    hooks = {"before_tool": [{"bash": "one"}, {"matcher": "shell", "hooks": [{"bash": "two"}]}]}
    commands = [d.handlers[0].command for d in load(EITHER, hooks).definitions]
    assert commands == ["one", "two"]


def test_definitions_are_read_and_written_in_the_usual_layout():
    entry = {"matcher": "shell", "bash": "guard", "timeoutSec": 3}
    (definition,) = iter_definitions(FLAT, {"hooks": {"before_tool": [entry, "no definition"]}})
    assert definition.value == {
        "matcher": "shell",
        "hooks": [{"type": "command", "command": "guard", "timeout": 3}],
    }
    assert own_entries(FLAT, definition.value) == [
        {"matcher": "shell", "type": "command", "bash": "guard", "timeoutSec": 3}
    ]
    assert own_entries(GENERIC, definition.value) == [definition.value]


def test_a_hook_that_was_taken_out_comes_back_into_a_flat_list():
    text = json.dumps({"hooks": {"before_tool": [{"bash": "one"}, {"bash": "two"}]}}, indent=2)
    document = parse(text, "hooks.json")
    file = read_document(FLAT, Source(Layer.PROJECT, Path("hooks.json")), document)
    handler = file.definitions[0].handlers[0]
    without, entry = take_out(FLAT, text, handler)
    assert json.loads(without) == {"hooks": {"before_tool": [{"bash": "two"}]}}
    kept = KeptHook(file.source, Path("kept.json"), entry, file.definitions[0])
    assert put_back(FLAT, without, kept) == text
    changed = without.replace("two", "three")
    assert json.loads(put_back(FLAT, changed, kept))["hooks"]["before_tool"] == [
        {"bash": "three"},
        {"bash": "one"},
    ]

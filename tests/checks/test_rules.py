"""The table of rules has every rule, and its findings do not depend on chance."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys

import pytest

from anyhook.checks import (
    command_texts,
    hook_functions,
    lost_denials,
    rules,
    scripts,
    settings,
    started_scripts,
)

MODULES = (command_texts, hook_functions, lost_denials, scripts, settings, started_scripts)
TABLES = (
    rules.SCRIPT_RULES,
    rules.HOOK_RULES,
    rules.DEFINITION_RULES,
    rules.HOOK_FILE_RULES,
    rules.CHECK_RULES,
)


def rules_of(module):
    """Return the functions that yield diagnostics about an engine or one of its hooks."""
    functions = [f for _, f in inspect.getmembers(module, inspect.isfunction)]
    own = [f for f in functions if f.__module__ == module.__name__ and f.__name__[0] != "_"]
    yielding = [f for f in own if f.__annotations__.get("return") == "Iterator[Diagnostic]"]
    return [f for f in yielding if {"Engine", "CheckedHook"} & {*f.__annotations__.values()}]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_rule_is_in_one_table_once(module):
    named = [rule for table in TABLES for rule in table]
    own_rules = rules_of(module)

    assert own_rules
    assert [rule.__name__ for rule in own_rules if named.count(rule) != 1] == []


HOOK_FILE = """\
from anyhook.authoring import Hooks, deny
hooks = Hooks()
@hooks.before_tool("shel")
def guard(event):
    return deny("no")
hooks.run()
"""


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["0", "1", "2", "3"])
def test_a_suggestion_for_a_tool_is_its_common_name_in_every_run(project, seed):
    (project / "hook.py").write_text(HOOK_FILE)
    handler = {"type": "command", "command": "python3 hook.py"}
    file = project / ".cursor" / "hooks.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"version": 1, "hooks": {"preToolUse": [handler]}}))

    report = check(project, seed)

    (problem,) = [item for item in report if item["code"] == "unknown-subject"]
    assert problem["message"].endswith("did you mean 'shell'?")


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["0", "1", "2", "3"])
def test_the_first_mistake_of_a_file_is_named_in_every_run(project, seed):
    file = project / ".codex" / "hooks.json"
    file.parent.mkdir()
    file.write_text('{\n"one": 1,\n"two": 2,\n"three": 3,\n"hooks": {}\n}\n')

    report = check(project, seed)

    (dropped,) = [item for item in report if item["code"] == "settings-dropped"]
    assert dropped["line"] == 2


def check(project, seed):
    """Return the diagnostics of `anyhook check` in a process with this seed of hashes."""
    process = subprocess.run(
        [sys.executable, "-m", "anyhook", "check", "--project", str(project), "--json"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONHASHSEED": seed},
    )
    return json.loads(process.stdout)["diagnostics"]

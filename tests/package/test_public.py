"""The public face: what it has, and what it costs."""

from __future__ import annotations

import ast
import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

import anyhook
from anyhook import Answer, BeforeTool, SessionEnd, UnknownNameError
from anyhook.model.diagnostics import CODES
from anyhook.model.events import EVENTS, all_events, json_kind

SRC = Path(anyhook.__file__).parent


def imported_by(code: str) -> set[str]:
    """List the modules that a program loads beyond those of an empty one."""

    def modules(text):
        program = f"{text}\nimport sys; print(*sys.modules)"
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        )
        return set(done.stdout.split())

    return modules(code) - modules("import json, __future__")


def test_the_tables_of_the_public_face_agree():
    tree = ast.parse((SRC / "__init__.pyi").read_text(encoding="utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    seen_by_checkers = {alias.asname for node in imports for alias in node.names}

    assert seen_by_checkers == set(anyhook.__all__) - {"__version__"}
    for name in anyhook.__all__:
        assert getattr(anyhook, name) is not None
    assert set(dir(anyhook)) == set(anyhook.__all__)


def test_every_error_can_be_imported_from_the_package():
    tree = ast.parse((SRC / "errors.py").read_text(encoding="utf-8"))
    errors = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}

    assert errors <= set(anyhook.__all__)


def test_every_event_can_be_imported_from_the_package():
    assert {cls.__name__ for cls in all_events().values()} <= set(anyhook.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Enigne'"):
        _ = anyhook.Enigne


def test_importing_anyhook_loads_nothing_else():
    assert imported_by("import anyhook") == {"anyhook"}


def test_events_and_answers_are_cheap_to_import():
    loaded = imported_by("import anyhook.model.events, anyhook.model.answers")

    assert loaded == {
        "anyhook",
        "anyhook.model",
        "anyhook.model.event",
        "anyhook.model.events",
        "anyhook.model.answers",
        "anyhook.model.record",
    }


READS_OUTPUT = """import json
import anyhook.agents.output
from anyhook.agents import get_agent
from anyhook.agents.output import ProcessExit, decode_exit
from anyhook.model.layers import Layer

class Speaker:
    label, place, layer = "guard", None, Layer.PROJECT

DENIAL = {
    "hookEventName": "PreToolUse",
    "permissionDecision": "deny",
    "permissionDecisionReason": "no",
}
agent = get_agent("claude")
rules = agent.rules(RULES)
spec = rules.by_canonical["before_tool"]
outputs = [
    decode_exit(agent, rules, spec, Speaker(), end)
    for end in (
        ProcessExit(0, stdout=json.dumps({"hookSpecificOutput": DENIAL})),
        ProcessExit(0, stdout="text"),
        ProcessExit(2, stderr="no"),
        ProcessExit(1, stderr="boom"),
    )
]
assert [str(output.answer.outcome) for output in outputs] == ["deny", "none", "deny", "none"]
assert [output.answer.reason for output in outputs] == ["no", None, "no", None]
assert [d.code for output in outputs for d in output.diagnostics] == ["handler-exit"]
"""


@pytest.mark.parametrize("rules", ["documented", "observed"])
def test_what_a_command_said_is_read_without_heavy_modules(rules):
    loaded = imported_by(READS_OUTPUT.replace("RULES", repr(rules)))

    heavy = "dataclasses typing inspect ast copy weakref importlib.machinery math".split()
    assert "anyhook.agents.output" in loaded
    assert not loaded.intersection(heavy)


def test_no_module_below_the_commands_loads_their_libraries():
    assert not {"typer", "rich"} & imported_by("from anyhook import Engine; Engine.load('/')")


@pytest.mark.slow
def test_every_diagnostic_that_is_made_has_a_code():
    made = set()
    for file in SRC.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "id", None) or getattr(node.func, "attr", None)
                if name in ("diagnose", "report", "_about", "note", "failed_result", "_fail"):
                    codes = [k.value for k in node.keywords if k.arg == "code"]
                    texts = [
                        c.value
                        for argument in (*node.args[:2], *codes)
                        for c in ast.walk(argument)
                        if isinstance(c, ast.Constant) and isinstance(c.value, str)
                    ]
                    made |= {text for text in texts if text in CODES}
    chosen_by_a_variable = {
        "output-misplaced",
        "payload-word",
        "output-truncated",
        "held-pipe",
        "missing-cwd",
        "payload-repaired",
        "payload-event",
        "payload-field",
        "variable-repaired",
        "handler-failed",
        "handler-timeout",
    }
    assert made | chosen_by_a_variable == set(CODES)


# -- values


def test_events_are_values():
    event = BeforeTool(tool_name="t", tool_input={"a": 1})

    assert event == BeforeTool(tool_name="t", tool_input={"a": 1})
    assert event != event.replace(tool_name="u")
    assert event != SessionEnd(reason="exit")
    assert repr(event) == "BeforeTool(tool_name='t', tool_input={'a': 1})"
    assert event.copy() == event
    assert event.copy().tool_input is not event.tool_input
    with pytest.raises(AttributeError, match="use replace"):
        event.tool_name = "u"
    with pytest.raises(AttributeError, match="frozen"):
        del event.tool_name
    with pytest.raises(TypeError, match="unhashable"):
        hash(event)


def test_events_refuse_what_they_do_not_have():
    with pytest.raises(TypeError, match="BeforeTool needs tool_name, tool_input"):
        BeforeTool()
    with pytest.raises(TypeError, match="did you mean 'tool_name'"):
        BeforeTool(tool_nam="t", tool_name="t", tool_input={})
    with pytest.raises(TypeError, match="it has outcome"):
        Answer(zzzzzz=1)


def test_fields_that_are_no_fields_have_any_kind():
    assert json_kind(EVENTS["before_tool"], "nope") == "any"


def test_the_number_of_commands_follows_the_limit_of_open_files():
    import resource

    from anyhook.processes.result import descriptor_budget

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        for limit, budget in ((256, 32), (70, 1), (40, 1)):
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
            assert descriptor_budget(64) == budget
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_on_windows_commands_are_reported_as_missing(monkeypatch):
    from anyhook import PlatformError
    from anyhook.processes import result, run

    monkeypatch.setattr(run.os, "name", "nt")
    with pytest.raises(PlatformError, match="Linux and macOS"):
        asyncio.run(run.run_process(["true"], cwd=".", env={}))
    assert result.descriptor_budget(64) == 64


def test_what_is_no_text_of_json_is_refused():
    from anyhook.model.json import parse_json

    for text in ("NaN", "[" * 100_000):
        with pytest.raises(ValueError, match=r"NaN|deep"):
            parse_json(text)


def test_an_unknown_name_carries_what_is_known():
    error = UnknownNameError("hook", "x", ["abc"])

    assert (error.kind, error.name, error.known) == ("hook", "x", ("abc",))
    assert str(error) == "no hook named 'x'; known: abc"

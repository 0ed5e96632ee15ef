"""To which hook, and to which call, a run counts: a row vouches for its own runs only."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from anyhook.agents.program import get_program
from anyhook.history.store import History
from anyhook.history.trials import trials_of
from anyhook.manage.evidence import hook_identity
from anyhook.manage.tried import keep_probe
from anyhook.probe.plan import CallRequest
from anyhook.probe.probing import ProbeOptions, probe_agent
from anyhook.probe.report import ProbeVerdict
from anyhook.settings.sources import Location
from tests.probe.test_report import load

STAND_IN = (sys.executable, str(Path(__file__).with_name("stand_in.py")))
DENIES = "grep -q 'rm -rf' && { echo 'that removes files' >&2; exit 2; }; exit 0"
CALL = """Bash {"command": "echo first"}"""


def rewriting(command):
    """Return a command that lets another one run in place of each call."""
    reply = {"hookEventName": "PreToolUse", "updatedInput": {"command": command}}
    return f"echo {shlex.quote(json.dumps({'hookSpecificOutput': reply}))}"


@pytest.fixture
def write(project):
    """Write hooks of Claude Code: (event, matcher, command)."""

    def call(*hooks, indent=1):
        events = {}
        for event, matcher, command in hooks:
            handler = {"type": "command", "command": command}
            events.setdefault(event, []).append({"matcher": matcher, "hooks": [handler]})
        path = project / ".claude" / "settings.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"hooks": events}, indent=indent))

    return call


@pytest.fixture
def probe(project, home):
    """Try the hooks in the stand-in."""

    def call(*calls, options=(), command=STAND_IN):
        program = get_program("claude").replace(subagent_call=None)
        real = Location.of(project, home=home, environ={"PATH": "/usr/bin:/bin"})
        requests = tuple(map(CallRequest.parse, calls))
        settings = ProbeOptions((*command, *options), requests, 30.0)
        return probe_agent(program, real, settings, lambda _text: None)

    return call


def rows(report):
    """Return matcher or event to verdict, whether it ran, and whether its denials held."""
    return {
        hook.hook.matcher or hook.hook.event: (hook.verdict, hook.fired, hook.held())
        for hook in report.hooks
    }


@pytest.mark.parametrize("code", [0, 1])
def test_a_program_that_never_asks_its_model_is_no_fault_of_a_hook(write, probe, tmp_path, code):
    write(("SessionStart", "*", "true"), ("PreToolUse", "Bash", DENIES))
    program = tmp_path / "claude"
    program.write_text(f"#!/bin/sh\n[ $1 = --version ] && echo 2.1.330 || exit {code}\n")
    program.chmod(0o755)

    report = probe(command=(str(program),))

    assert [hook.verdict for hook in report.hooks] == [ProbeVerdict.UNTESTED] * 2
    assert report.is_broken
    assert f"ended with {code} before it asked its model" in report.problems[0]


def test_a_run_counts_for_the_hook_whose_matcher_let_it_run(write, probe):
    matchers = ("Bash", "mcp__github__.*", "WebFetch")
    write(*(("PreToolUse", matcher, DENIES) for matcher in matchers))
    assert rows(probe()) == {
        "Bash": (ProbeVerdict.WORKS, True, True),
        "mcp__github__.*": (ProbeVerdict.UNTESTED, None, None),
        "WebFetch": (ProbeVerdict.UNTESTED, None, None),
    }


@pytest.mark.parametrize("indent", [None, 1])
def test_what_is_kept_of_a_probe_is_of_the_hook_that_ran(write, probe, project, home, indent):
    write(("PreToolUse", "Bash", DENIES), ("PreToolUse", "WebFetch", DENIES), indent=indent)
    keep_probe(project, probe())
    engine = load(project, home)
    decided = {}
    with History.open() as history:
        for definition in engine.definitions:
            identity = hook_identity(engine, definition, definition.handlers[0])
            trials = trials_of(history, "claude", "before_tool", entry=identity.entry, file="")
            decided[definition.matcher] = [trial.has_decided for trial in trials]
    assert decided == {"Bash": [True], "WebFetch": []}


@pytest.mark.parametrize("options", [(), ("--without-identifiers",)])
def test_a_call_is_found_although_a_hook_rewrote_its_arguments(write, probe, options):
    write(("PreToolUse", "Bash", rewriting("echo safe")), ("PostToolUse", "", "cat > /dev/null"))
    report = probe(CALL, """Bash {"command": "echo safe"}""", options=options)
    assert rows(report) == {
        "Bash": (ProbeVerdict.WORKS, True, None),
        "PostToolUse": (ProbeVerdict.WORKS, True, None),
    }
    after = report.hooks[1]
    assert [seen.call for seen in after.observations] == list(report.calls)


def test_a_rewritten_call_that_was_made_does_not_show_that_a_denial_held(write, probe):
    # The stand-in ignores this reply. No file is removed, because another command runs.
    reply = {"hookEventName": "PreToolUse", "permissionDecision": "deny"}
    ignored = f"grep -q 'rm -rf' && echo {shlex.quote(json.dumps({'hookSpecificOutput': reply}))}"
    write(("PreToolUse", "Bash", rewriting("echo safe")), ("PreToolUse", ".*", f"{ignored}; :"))
    assert rows(probe())[".*"] == (ProbeVerdict.WORKS, True, None)

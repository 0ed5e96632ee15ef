"""`anyhook migrate --prove`: what it runs where, and what counts as a difference."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import permutations

import pytest

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.agents.translate import call_of
from anyhook.migrate.corpus import builtin_probes
from anyhook.model.events import ToolEvent
from anyhook.model.tools import TOOLS
from anyhook.sandbox.copies import copy_home
from anyhook.settings.sources import Location
from tests.answering import answer
from tests.tables import each

pytestmark = pytest.mark.slow

ARGUMENTS = ("migrate", "--from", "claude", "--to", "gemini", "--dry-run", "--prove")
TO_CODEX = ("migrate", "--from", "claude", "--to", "codex", "--dry-run")
STOP = {"hook_event_name": "Stop", "session_id": "s", "transcript_path": "", "cwd": "/srv"}


@pytest.fixture
def here(world, monkeypatch):
    """Work in the project, with `anyhook` on the path."""
    monkeypatch.chdir(world.project)
    programs = world.project.parent / "programs"
    programs.mkdir()
    program = programs / "anyhook"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m anyhook "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join([str(programs), os.environ["PATH"]]))
    return world


def configure(world, command, event="Stop", **members):
    """Give Claude Code one hook, and write down one event that it is for."""
    hook = {"type": "command", "command": command, **members}
    file = world.project / ".claude" / "settings.json"
    world.write(file, json.dumps({"hooks": {event: [{"hooks": [hook]}]}}))
    events = world.project.parent / "events.jsonl"
    payload = {**STOP, "hook_event_name": event, "cwd": str(world.project)}
    events.write_text(json.dumps({**payload, "stop_hook_active": False}) + "\n")
    return events


def test_what_differs_from_run_to_run_is_unstable_and_no_difference(here, run):
    random = "$(od -An -N8 -tx8 /dev/urandom | tr -d ' ')"
    events = configure(here, f'echo "Ran 1 test in {random}s, FAILED" >&2; exit 2')

    code, out, _ = run(*ARGUMENTS, "--trust-once", "--events", str(events), "--json")
    proof = json.loads(out)["proof"]

    assert (code, proof["holds"]) == (0, True)
    assert proof["hooks"][0]["decided"] == 1
    assert proof["hooks"][0]["differences"] == []
    assert list(proof["hooks"][0]["unstable"].values()) == [["reason"]]
    assert proof["combined"] == []

    code, out, _ = run(*ARGUMENTS, "--trust-once", "--events", str(events))
    assert code == 0
    assert "reason differs from run to run" in " ".join(out.split())


def test_a_verdict_that_differs_is_a_difference_though_the_reason_is_unstable(here, run):
    """Only the copy of the migrated side has settings of Gemini CLI."""
    random = "$(od -An -N8 -tx8 /dev/urandom | tr -d ' ')"
    events = configure(here, f'test -e .gemini && exit 0; echo "no {random}" >&2; exit 2')

    code, out, _ = run(*ARGUMENTS, "--trust-once", "--events", str(events), "--json")
    proof = json.loads(out)["proof"]

    assert (code, proof["holds"]) == (1, False)
    (difference,) = proof["hooks"][0]["differences"]
    assert difference["from"]["outcome"] == "deny"
    assert "outcome" not in difference["to"]


def test_the_migrated_settings_are_no_change_of_the_repository(here, run):
    events = configure(here, "git status --short; exit 0", event="SessionStart")
    commit = "git -c user.name=x -c user.email=x@x commit -qm all"
    for command in ("git init -q", "git add -A", commit):
        subprocess.run(command.split(), cwd=here.project, check=True)

    code, out, _ = run(*ARGUMENTS, "--trust-once", "--events", str(events), "--json")

    assert (code, json.loads(out)["proof"]["combined"]) == (0, [])


def test_a_command_under_two_matchers_is_compared_for_each(here, run):
    events = configure_two(here, "echo no >&2; exit 2", "exit 0")
    file = here.project / ".claude" / "settings.json"
    command = {"type": "command", "command": "echo no >&2; exit 2"}
    definitions = [{"matcher": name, "hooks": [command]} for name in ("Bash", "Write")]
    file.write_text(json.dumps({"hooks": {"PreToolUse": definitions}}))

    code, out, _ = run(*ARGUMENTS, "--trust-once", "--events", str(events), "--json")
    proof = json.loads(out)["proof"]

    assert (code, [hook["differences"] for hook in proof["hooks"]]) == (0, [[], []])
    assert [hook["decided"] for hook in proof["hooks"]] == [1, 0]


ASK = json.dumps(
    {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask"}}
)
TO_COPILOT = ("migrate", "--from", "claude", "--to", "copilot", "--dry-run", "--prove")


def configure_two(world, first, second):
    """Give Claude Code two hooks on every command, and write down one command."""
    hooks = [{"type": "command", "command": command} for command in (first, second)]
    settings = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": hooks}]}}
    world.write(world.project / ".claude" / "settings.json", json.dumps(settings))
    call = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "t"}
    payload = {**STOP, "hook_event_name": "PreToolUse", "cwd": str(world.project), **call}
    return world.write(world.project.parent / "events.jsonl", json.dumps(payload) + "\n")


def test_a_hook_that_does_not_run_after_a_denial_is_no_difference(here, run):
    events = configure_two(here, "echo first >&2; exit 2", "echo second >&2; exit 2")

    code, out, _ = run(*TO_COPILOT, "--trust-once", "--events", str(events), "--json")
    proof = json.loads(out)["proof"]

    assert (code, proof["holds"]) == (0, True)
    assert [hook["decided"] for hook in proof["hooks"]] == [1, 1]
    assert [hook["differences"] for hook in proof["hooks"]] == [[], []]
    (combined,) = proof["combined"]
    assert (combined["from"]["reason"], combined["to"]["reason"]) == ("first\nsecond", "first")
    assert combined["explained"]


def test_a_denial_that_does_not_come_after_a_question_is_a_reported_difference(here, run):
    """The first answer of any kind ends the sequence there, and the user may allow the call."""
    events = configure_two(here, f"echo '{ASK}'", "echo never >&2; exit 2")

    code, out, _ = run(*TO_COPILOT, "--trust-once", "--events", str(events), "--json")
    report = json.loads(out)

    assert (code, report["proof"]["holds"]) == (0, True)
    (combined,) = report["proof"]["combined"]
    assert (combined["from"]["outcome"], combined["to"]["outcome"]) == ("deny", "ask")
    (loss,) = [loss for loss in report["losses"] if loss["kind"] == "weaker"]
    assert loss["what"] == "echo: asking the user"
    assert "runs no other hook, also none that would deny" in loss["why"]


def test_the_question_of_a_command_with_unknown_text_is_an_unreported_difference(here, run):
    program = here.project.parent / "programs" / "asks"
    program.write_text(f"#!/bin/sh\necho '{ASK}'\n")
    program.chmod(0o755)
    events = configure_two(here, "asks", "echo never >&2; exit 2")

    code, out, _ = run(*TO_COPILOT, "--trust-once", "--events", str(events), "--json")
    proof = json.loads(out)["proof"]

    assert (code, proof["holds"]) == (1, False)
    (combined,) = proof["combined"]
    assert not combined["explained"]


def test_hooks_get_a_home_of_their_own_with_copies_of_the_agents_directories(here, run):
    """They find their files there, and what they write changes nothing of the real home."""
    here.write(here.home / ".claude" / "words.txt", "not today")
    here.write(here.home / ".claude" / ".credentials.json", "secret")
    here.write(here.home / ".claude" / "projects" / "long.jsonl", "x" * 2_000_000)
    log = here.home / ".claude" / "log.txt"
    events = configure(
        here,
        'echo seen >> "$HOME/.claude/log.txt"; ls -A "$HOME/.claude" "$HOME/.claude/projects" >&2; '
        'cat "$HOME/.claude/words.txt" >&2; exit 2',
    )
    before = sorted(here.home.rglob("*"))

    code, out, _ = run(*ARGUMENTS, "--trust-once", "--events", str(events), "--json")
    proof = json.loads(out)["proof"]

    assert (code, proof["holds"], proof["hooks"][0]["decided"]) == (0, True, 1)
    assert not log.exists()
    assert sorted(here.home.rglob("*")) == before


def test_the_proof_runs_the_shim_though_anyhook_is_not_on_the_path(here, run, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    events = configure(here, "echo no >&2; exit 2")

    code, out, err = run(*ARGUMENTS, "--trust-once", "--events", str(events), "--json")

    assert (code, json.loads(out)["proof"]["holds"]) == (0, True)
    assert "anyhook is not on the PATH" in " ".join(err.split())


ASKS = """
from anyhook.authoring import Hooks, ask

hooks = Hooks()

@hooks.before_tool("shell")
def guard(event):
    return ask("push?") if event.runs("git", "push") else None

if __name__ == "__main__":
    hooks.run()
"""


def test_a_hook_file_asks_again_under_an_agent_that_can_ask(here, run):
    file = here.write(here.project / "guard.py", ASKS)
    run("add", str(file), "--agent", "opencode", "--scope", "project", "--yes")

    code, out, _ = run(
        *("migrate", "--from", "opencode", "--to", "gemini", "--dry-run", "--prove"),
        *("--trust-once", "--json"),
    )

    report = json.loads(out)
    assert (code, report["proof"]["holds"]) == (0, True)
    (loss,) = report["losses"]
    assert loss["why"] == "Gemini CLI asks its user where OpenCode denies the call"


def test_credentials_and_large_files_are_not_copied(here):
    here.write(here.home / ".claude" / "words.txt", "not today")
    here.write(here.home / ".claude" / ".credentials.json", "secret")
    here.write(here.home / ".claude" / "projects" / "long.jsonl", "x" * 2_000_000)
    copy = here.project.parent / "copy"

    copy_home(Location.of(here.project, home=here.home), copy)

    assert [path.name for path in copy.rglob("*") if path.is_file()] == ["words.txt"]


def test_a_link_in_the_home_is_copied_and_not_followed_by_what_hooks_write(here, run):
    elsewhere = here.write(here.project.parent / "dotfiles" / "log.txt", "mine\n")
    (here.home / ".claude").mkdir()
    (here.home / ".claude" / "logs").symlink_to(elsewhere.parent)
    events = configure(here, 'echo seen >> "$HOME/.claude/logs/log.txt"')

    code, _, err = run(*ARGUMENTS, "--trust-once", "--events", str(events))

    assert code == 0, err
    assert elsewhere.read_text() == "mine\n"


def test_the_user_learns_what_runs_where_before_anything_runs(here):
    """At a terminal: the commands, the copies and the home are shown, and the answer counts."""
    ran = here.project.parent / "ran"
    configure(here, f"touch {ran}")
    (here.home / ".claude").mkdir()
    out = answered(here, b"n")

    assert f"touch {ran}" in out
    assert "~/.claude" in out
    assert "in a sandbox, where they change nothing of yours" in " ".join(out.split())
    assert "Run them?" in out
    assert "nothing was run" in out

    assert "nothing was run" not in answered(here, b"y")
    assert not ran.exists()


def answered(world, key):
    return answer(ARGUMENTS, key, cwd=world.project)[1]


def test_without_a_terminal_trusted_hooks_run_only_if_that_was_said(here, run):
    ran = here.project.parent / "ran"
    events = str(configure(here, f"touch {ran}"))
    run("trust", "--agent", "claude", "--yes")

    code, _, err = run(*ARGUMENTS, "--events", events)
    assert code == 64
    assert "--yes or --trust-once" in " ".join(err.split())
    assert not ran.exists()

    code, out, _ = run(*ARGUMENTS, "--events", events, "--yes")
    assert code == 0
    assert f"touch {ran}" in out
    assert not ran.exists()


def test_hooks_that_are_not_trusted_do_not_run_with_yes_alone(here, run):
    ran = here.project.parent / "ran"
    events = str(configure(here, f"touch {ran}"))

    code, _, err = run(*ARGUMENTS, "--events", events, "--yes")

    assert code == 64
    assert "not trusted" in err
    assert not ran.exists()


def test_a_command_of_a_stranger_cannot_write_to_the_terminal(here, run):
    events = str(configure(here, "true \x1b[2J\u202e hidden"))

    _, out, err = run(*ARGUMENTS, "--events", events, "--trust-once")

    assert "\x1b[2J" not in out + err
    assert "\u202e" not in out + err


@each("source, target", permutations(CODING_AGENTS, 2))
def test_events_of_tools_that_one_agent_lacks_are_not_compared(source, target, tmp_path):
    agents = get_agent(source), get_agent(target)

    probes = builtin_probes(*agents, (), tmp_path)

    for probe in probes:
        if isinstance(probe.source_event, ToolEvent):
            tool = call_of(probe.source_event, agents[0]).tool
            names = [agent.vocabulary.name(tool) for agent in agents]
            assert tool not in TOOLS or all(names), probe.label


def test_the_report_names_the_tools_that_were_not_compared(here, run):
    events = configure(here, "true")

    code, out, _ = run(*TO_CODEX, "--prove", "--trust-once", "--events", str(events))

    assert code == 0
    assert "not compared: Codex CLI has no tool like Read, " in " ".join(out.split())


HIDES_RESULTS = """
from anyhook.authoring import Hooks, replace_result

hooks = Hooks()


@hooks.after_tool("shell")
def hide(event):
    return replace_result("hidden")


if __name__ == "__main__":
    hooks.run()
"""


def test_what_a_function_of_a_hook_file_cannot_do_there_is_a_loss(here, run):
    here.write(here.project / "hide.py", HIDES_RESULTS)
    configure(here, "python3 hide.py", event="PostToolUse")

    _, out, _ = run(*TO_CODEX, "--json")

    what = [loss["what"] for loss in json.loads(out)["losses"]]
    assert "hide.py: replaced results" in what


@each("target", ["gemini", "copilot", "opencode"])
def test_a_result_that_does_not_repeat_what_was_written_is_a_note(here, run, target):
    here.write(here.project / "hide.py", HIDES_RESULTS)
    configure(here, "python3 hide.py", event="PostToolUse")

    _, out, _ = run("migrate", "--from", "claude", "--to", target, "--dry-run", "--json")

    why = [loss["why"] for loss in json.loads(out)["losses"] if loss["kind"] == "note"]
    assert any("does not repeat its text" in text for text in why)


@pytest.fixture
def guarded(here, run):
    """Work in a project whose Claude Code has the guards of the package."""
    here.write(here.project / ".claude" / "settings.json", "{}")
    assert run("add", "files", "git", "--agent", "claude", "--yes")[0] == 0
    return here


@pytest.mark.parametrize("target", [name for name in CODING_AGENTS if name != "claude"])
def test_the_guards_of_the_package_decide_the_same_in_every_agent(guarded, run, target):
    arguments = ("--from", "claude", "--to", target, "--dry-run", "--prove", "--trust-once")

    code, out, _ = run("migrate", *arguments, "--json")

    proof = json.loads(out)["proof"]
    differences = [each for hook in proof["hooks"] for each in hook["differences"]]
    assert [each for each in differences if not each["explained"]] == []
    assert (code, proof["holds"]) == (0, True)


def test_a_difference_without_an_explanation_is_shown_before_the_others(here, run):
    """Codex CLI cannot ask, which is reported; only its copy of the project has its settings."""
    here.write(
        here.project / "guard.sh",
        "case $(cat) in\n*git/config*) test -e .codex && exit 0; echo no >&2; exit 2 ;;\n"
        f"*) echo '{ASK}' ;;\nesac\n",
    )
    configure(here, "sh guard.sh", event="PreToolUse")

    code, out, _ = run(*TO_CODEX, "--prove", "--trust-once")

    assert code == 1
    shown = " ".join(out.split())
    assert shown.index("(guard.sh; not reported above)") < shown.index("(guard.sh; reported above)")


DENIES_WARM = """
import sys

from anyhook.authoring import Hooks, deny

hooks = Hooks()


@hooks.before_tool
def guard(event):
    return deny("warm") if "anyhook.worker.child" in sys.modules else None


if __name__ == "__main__":
    hooks.run()
"""


def test_hook_files_run_on_workers_of_the_proof(here, run):
    here.write(here.project / "guard.py", DENIES_WARM)
    configure(here, 'anyhook run "${CLAUDE_PROJECT_DIR}/guard.py"', event="PreToolUse")

    _, out, _ = run(*TO_CODEX, "--prove", "--trust-once", "--json")

    (hook,) = json.loads(out)["proof"]["hooks"]
    assert hook["decided"] > 0

"""`anyhook migrate --prove`: what it runs where, and what counts as a difference."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

ARGUMENTS = ("migrate", "--from", "claude", "--to", "gemini", "--dry-run", "--prove")
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


def test_credentials_and_large_files_are_not_copied(here, run):
    here.write(here.home / ".claude" / "words.txt", "not today")
    here.write(here.home / ".claude" / ".credentials.json", "secret")
    here.write(here.home / ".claude" / "projects" / "long.jsonl", "x" * 2_000_000)
    found = here.project.parent / "found.txt"
    events = configure(here, f'find "$HOME" -type f -printf "%f\\n" > {found}')

    run(*ARGUMENTS, "--trust-once", "--events", str(events), "--json")

    assert found.read_text().split() == ["words.txt"]


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
    out = answered(here, b"n\n")

    assert f"touch {ran}" in out
    assert "~/.claude" in out
    assert "writes elsewhere, it writes for real" in " ".join(out.split())
    assert "Run them?" in out
    assert not ran.exists()

    answered(here, b"y\n")
    assert ran.exists()


def answered(world, answer):
    leader, follower = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "anyhook", *ARGUMENTS],
        stdin=follower,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=world.project,
    ) as process:
        os.close(follower)
        os.write(leader, answer)
        out, _ = process.communicate(timeout=50)
    os.close(leader)
    return out.decode()


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
    assert ran.exists()


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

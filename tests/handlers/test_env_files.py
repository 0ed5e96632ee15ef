"""Variables that hooks of Claude Code leave for the shell commands of a session."""

from __future__ import annotations

import asyncio
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from anyhook.testing import make_event
from tests.world import World


@pytest.fixture
def claude(tmp_path):
    return World(tmp_path, agent="claude")


def leave(world, **commands):
    hooks = {
        event: [{"hooks": [{"type": "command", "command": c} for c in lines]}]
        for event, lines in commands.items()
    }
    world.settings("project", {"hooks": hooks})
    return closing(world.load())


def fire(engine, name, session="s1", **fields):
    event = make_event(name, agent="claude", **fields)
    event = event.replace(session_id=session, cwd=str(engine.project_dir))
    return asyncio.run(engine.dispatch(event))


def run_in_session(engine, line, session="s1"):
    script = engine.session_script(session)
    done = subprocess.run(
        ["/bin/sh", "-c", f"{script}\n{line}"], capture_output=True, text=True, check=True
    )
    return done.stdout


def test_what_a_hook_exports_reaches_the_shell_commands_of_its_session(claude):
    with leave(claude, SessionStart=['echo \'export A="1 2"\' >> "$CLAUDE_ENV_FILE"']) as engine:
        decision = fire(engine, "session_start")

        assert decision.diagnostics == ()
        assert run_in_session(engine, 'printf %s "$A"') == "1 2"
        assert run_in_session(engine, 'printf %s "$A"', session="s2") == ""


def test_each_hook_has_a_file_of_its_own_and_a_later_event_adds_to_it(claude):
    two = ['echo "export A=1" > "$CLAUDE_ENV_FILE"', 'echo "export B=2" > "$CLAUDE_ENV_FILE"']
    with leave(
        claude, SessionStart=two, FileChanged=['echo "export C=3" >> "$CLAUDE_ENV_FILE"']
    ) as (engine):
        fire(engine, "session_start")
        fire(engine, "file_changed", file_path="/x/.envrc", change="change")
        assert run_in_session(engine, 'echo "$A$B$C"') == "123\n"


def test_a_change_of_directory_clears_what_changes_before_it_left(claude):
    with leave(
        claude,
        SessionStart=['echo "export A=1" >> "$CLAUDE_ENV_FILE"'],
        CwdChanged=['cat > /dev/null; echo "export B=${B}2" >> "$CLAUDE_ENV_FILE"'],
        FileChanged=['echo "export C=3" >> "$CLAUDE_ENV_FILE"'],
    ) as engine:
        fire(engine, "session_start")
        fire(engine, "file_changed", file_path="/x/.envrc", change="change")
        fire(engine, "cwd_changed", old_cwd="/a", new_cwd="/b")
        fire(engine, "cwd_changed", old_cwd="/b", new_cwd="/c")
        assert run_in_session(engine, 'echo "$A|$B|$C"') == "1|2|\n"


def test_hooks_on_other_events_get_no_file(claude):
    with leave(claude, PreToolUse=['test -z "$CLAUDE_ENV_FILE" || exit 2']) as engine:
        decision = fire(engine, "before_tool", tool="shell", input={"command": "ls"})
        assert not decision.denied


def test_the_files_are_private_and_gone_with_the_engine(claude):
    seen = claude.project / "seen"
    with leave(
        claude,
        SessionStart=[f'echo x >> "$CLAUDE_ENV_FILE"; printf %s "$CLAUDE_ENV_FILE" > {seen}'],
    ) as engine:
        fire(engine, "session_start")
        path = Path(seen.read_text())
        assert path.read_text() == "x\n"
        assert path.parent.stat().st_mode & 0o077 == 0
    assert not path.parent.exists()
    assert engine.session_script("s1") == ""


def test_a_hook_that_makes_a_directory_of_its_file_does_not_stop_later_hooks(claude):
    with leave(
        claude,
        CwdChanged=['rm -f "$CLAUDE_ENV_FILE"; mkdir "$CLAUDE_ENV_FILE"'],
    ) as engine:
        for directory in ("/x", "/y"):
            decision = fire(engine, "cwd_changed", new_cwd=directory)
            assert decision.diagnostics == ()

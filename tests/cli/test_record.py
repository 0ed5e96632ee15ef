"""`anyhook history record`: settings files that record, and that are as they were before."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.cli import BUG, OK, USAGE, main
from anyhook.history.ingest import ingest
from anyhook.history.record_switch import read_switch
from anyhook.history.store import History
from anyhook.journal.lines import SWITCH
from anyhook.manage.recording import RECORDER_FILE, count_recorded, recorded_events
from anyhook.settings.hookset import load_hook_set
from anyhook.settings.sources import Location
from anyhook.testing import make_payload

SETTINGS = """{
  // what the user wrote
  "permissions": {"allow": ["Bash(ls:*)"]},
  "env": {"MY_KEY": "ghp_a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2"},
  "hooks": {
    "PreToolUse": [
      {"matcher": "Bash", "hooks": [{"type": "command", "command": "./guard.sh \\u00e4"}]} // mine
    ],
    "Stop": [],
  }
}
"""
PAYLOAD = make_payload("before_tool", agent="claude", tool="shell", input={"command": "rm x"})


@pytest.fixture
def here(tmp_path, monkeypatch):
    home, project = tmp_path / "home", tmp_path / "project"
    for directory in (home, project):
        directory.mkdir()
    for name in [name for name in os.environ if name.endswith(("CONFIG_DIR", "_HOME"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("ANYHOOK_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("ANYHOOK_WORKER", "off")
    monkeypatch.chdir(project)
    return tmp_path


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def record(*words):
    return main(["history", "record", *words])


def hooks_of(agent, here):
    location = Location.of(here / "project", home=here / "home")
    return load_hook_set(get_agent(agent), location)


@pytest.mark.parametrize("agent", CODING_AGENTS)
def test_a_recorder_for_every_event_is_added_and_removed(here, agent):
    assert record("on", "--agent", agent, "--yes") == OK

    events = {
        definition.event
        for definition in hooks_of(agent, here).definitions
        if any(RECORDER_FILE.name in str(h.command) for h in definition.handlers)
    }
    assert events == {spec.canonical for spec in recorded_events(get_agent(agent))}
    assert (here / "data" / "history" / SWITCH).stat().st_mode & 0o777 == 0o600

    assert record("off", "--yes") == OK

    assert not any(path.is_file() for path in (here / "home").rglob("*"))
    assert not (here / "data" / "history" / SWITCH).exists()


def test_a_dry_run_reports_the_state_that_stays(here, capfd):
    def off(*words):
        capfd.readouterr()
        assert record("off", "--json", *words) == OK
        state = json.loads(capfd.readouterr().out)
        return state["written"], state["recording"], len(state["files"])

    assert off("--dry-run") == (False, False, 0)
    record("on", "--agent", "claude", "--agent", "gemini", "--yes")

    assert off("--dry-run") == (False, True, 2)
    assert off("--agent", "gemini", "--yes") == (True, True, 1)
    assert off("--dry-run") == (False, True, 1)
    assert off("--yes") == (True, False, 1)
    assert off("--dry-run") == (False, False, 0)


@pytest.mark.parametrize("agent", CODING_AGENTS)
def test_check_reports_no_error_about_the_recorder(here, capfd, agent):
    assert record("on", "--agent", agent, "--yes") == OK
    assert [str(problem) for problem in hooks_of(agent, here).diagnostics] == []
    capfd.readouterr()

    code = main(["check", "--agent", agent, "--json"])

    report = json.loads(capfd.readouterr().out)
    errors = [each for each in report["diagnostics"] if each["severity"] == "error"]
    assert errors == []
    assert (code, report["hooks"] > 0) == (OK, True)


@pytest.mark.slow
def test_check_reports_nothing_about_the_recorder(here, capfd):
    for agent in ("claude", "cursor", "gemini"):
        record("on", "--agent", agent, "--yes")
    capfd.readouterr()

    code = main(["check", "--json"])

    assert (code, json.loads(capfd.readouterr().out)["diagnostics"]) == (OK, [])


def test_the_recorder_records_an_event_and_answers_nothing(here, capfd):
    record("on", "--agent", "claude", "--yes")
    handler = next(iter(hooks_of("claude", here).definitions)).handlers[0]

    process = subprocess.run(
        ["sh", "-c", handler.command],
        check=False,
        input=json.dumps(PAYLOAD).encode(),
        capture_output=True,
    )

    assert (process.returncode, process.stdout.strip(), process.stderr) == (0, b"{}", b"")
    with History.open() as history:
        assert ingest(history).events == 1
    capfd.readouterr()
    assert record("status", "--json") == OK
    status = json.loads(capfd.readouterr().out)
    assert status["recording"] is True
    claude = next(row for row in status["agents"] if row["agent"] == "claude")
    assert (claude["recorder"], claude["tapped"], claude["events_today"]) == (True, 0, 1)


@pytest.mark.slow
def test_a_table_shows_what_is_added_and_options_show_the_lines(here, capfd):
    write(here / "home/.claude/settings.json", SETTINGS)
    events = len(recorded_events(get_agent("claude")))
    words = ["--agent", "claude", "--tap"]

    def rows():
        lines = capfd.readouterr().out.splitlines()
        return [line.split() for line in lines if line.startswith("Claude")], lines

    for option in ([], ["--dry-run"]):
        assert record("on", *words, *option) == (OK if "--dry-run" in option else USAGE)
        table, lines = rows()
        path = "~/.claude/settings.json"
        assert table == [["Claude", "Code", path, f"+{events}", f"+{events}", "+1"]]
        assert any(line.startswith("+++ ") for line in lines) == bool(option), option
        assert ("To see the lines that change: --dry-run" in lines) == (not option), option

    assert record("on", *words, "--yes") == OK
    assert record("on", *words, "--dry-run") == OK
    assert rows()[0][-1][-3:] == ["as", "it", "is"]
    assert record("off", "--yes") == OK
    assert rows()[0] == [["Claude", "Code", path, f"-{events}", f"-{events}", "-1"]]


@pytest.mark.slow
@pytest.mark.parametrize("change", ["none", "other"])
def test_a_file_is_restored_byte_for_byte(here, change):
    user = write(here / "home/.claude/settings.json", SETTINGS)
    project = write(here / "project/.claude/settings.json", SETTINGS)
    local = write(here / "project/.claude/settings.local.json", SETTINGS.replace("\n", "\r\n"))
    before = [path.read_bytes() for path in (user, project, local)]

    assert record("on", "--agent", "claude", "--tap", "--yes") == OK
    assert "ANYHOOK_TAP" in project.read_text()
    assert "ANYHOOK_TAP" in local.read_text()
    if change == "other":
        user.write_text(user.read_text().replace("what the user wrote", "changed"))
        before[0] = None
    assert record("off", "--yes") == OK

    assert [project.read_bytes(), local.read_bytes()] == before[1:]
    if before[0] is not None:
        assert user.read_bytes() == before[0]
    else:
        text = user.read_text()
        assert "// changed" in text
        assert "// mine" in text
        assert "recorder.py" not in text
        assert "ANYHOOK" not in text


@pytest.mark.slow
def test_switching_on_twice_changes_nothing_more(here):
    path = write(here / "home/.claude/settings.json", SETTINGS)
    record("on", "--agent", "claude", "--tap", "--yes")
    text, switch = path.read_text(), read_switch()

    record("on", "--agent", "claude", "--tap", "--yes")
    record("on", "--agent", "claude", "--yes")

    assert (path.read_text(), read_switch()) == (text, switch)


def test_no_secret_of_a_settings_file_is_kept(here):
    write(here / "home/.claude/settings.json", SETTINGS)

    record("on", "--agent", "claude", "--tap", "--yes")

    assert "ghp_" not in (here / "data" / "history" / SWITCH).read_text()


@pytest.mark.slow
def test_a_recorder_that_a_killed_command_left_is_removed(here):
    path = write(here / "home/.claude/settings.json", SETTINGS)
    record("on", "--agent", "claude", "--yes")
    (here / "data" / "history" / SWITCH).unlink()

    assert record("off", "--yes") == OK

    assert "recorder.py" not in path.read_text()


def remove_state(here):
    (here / "data" / "history" / SWITCH).unlink()


def damage_state(here):
    write(here / "data" / "history" / SWITCH, '{"version": 1, "fi')


def change_types_in_state(here):
    write(here / "data" / "history" / SWITCH, '{"files": [{"agent": "claude"}]}')


@pytest.mark.slow
@pytest.mark.parametrize("lose_state", [remove_state, damage_state, change_types_in_state])
def test_recorders_and_taps_are_found_by_their_commands(here, capfd, lose_state):
    user = write(here / "home/.claude/settings.json", SETTINGS)
    project = write(here / "project/.claude/settings.json", SETTINGS)
    before = project.read_bytes()
    record("on", "--agent", "claude", "--tap", "--yes")
    lose_state(here)
    capfd.readouterr()

    assert record("status", "--json") == OK
    status = json.loads(capfd.readouterr().out)
    claude = next(row for row in status["agents"] if row["agent"] == "claude")
    assert (claude["recorder"], claude["tapped"]) == (True, 2)
    assert {*claude["files"]} == {str(project), str(user)}
    assert status["recording"] == (lose_state is not remove_state)
    assert any("anyhook history record off" in problem for problem in status["problems"])
    assert record("off", "--yes") == OK

    assert "./guard.sh" in user.read_text()
    assert not [word for word in ("recorder.py", "ANYHOOK") if word in user.read_text()]
    assert project.read_bytes() == before
    aside = [path.name for path in (here / "data" / "history").glob(f"*{SWITCH}")]
    assert len(aside) == (lose_state is not remove_state)
    assert all(name in capfd.readouterr().err for name in aside)
    capfd.readouterr()
    assert record("off", "--yes") == OK
    assert "Recording is off already" in capfd.readouterr().out


@pytest.mark.slow
def test_one_agent_is_switched_off_with_a_damaged_state(here):
    for agent in ("claude", "gemini"):
        record("on", "--agent", agent, "--yes")
    damage_state(here)

    assert record("off", "--agent", "gemini", "--yes") == OK

    assert [file.agent for file in read_switch().files] == ["claude"]
    assert "recorder.py" in (here / "home/.claude/settings.json").read_text()
    assert "recorder.py" not in (here / "home/.gemini/settings.json").read_text()


@pytest.mark.slow
def test_recording_is_switched_on_anew_with_a_damaged_state(here):
    project = write(here / "project/.claude/settings.json", SETTINGS)
    before = project.read_bytes()
    record("on", "--agent", "claude", "--tap", "--yes")
    damage_state(here)

    assert record("on", "--agent", "claude", "--yes") == OK

    assert {Path(file.path).parent.parent.name for file in read_switch().files} == {
        "home",
        "project",
    }
    assert record("off", "--yes") == OK
    assert project.read_bytes() == before


def test_settings_that_cannot_be_read_are_a_problem_of_the_status(here, capfd):
    path = write(here / "project/.claude/settings.json", SETTINGS)
    record("on", "--agent", "claude", "--tap", "--yes")
    path.write_text(path.read_text().replace('"hooks": {', '"hooks": {{'))
    capfd.readouterr()

    assert record("status") == OK
    out = capfd.readouterr().out
    assert "unknown" in out
    assert f"its hooks are not counted: {path}:5: " in out


@pytest.mark.slow
def test_taps_behind_a_link_out_of_the_project_are_left_alone(here):
    path = write(here / "project/.claude/settings.json", SETTINGS)
    record("on", "--agent", "claude", "--tap", "--yes")
    outside = path.rename(here / "outside.json")
    path.symlink_to(outside)
    text = outside.read_text()
    remove_state(here)

    assert record("off", "--yes") == OK

    assert "ANYHOOK_TAP" in text
    assert outside.read_text() == text


def test_limits_are_kept(here, capfd):
    record("on", "--agent", "claude", "--keep", "26w", "--max-size", "2GB", "--yes")
    record("on", "--agent", "claude", "--keep", "180d", "--yes")

    switch = read_switch()
    assert (switch.days, switch.size) == (180.0, 2 * 1024**3)
    capfd.readouterr()
    assert record("on", "--agent", "claude", "--keep", "soon", "--yes") == USAGE
    assert "--keep takes 180d" in capfd.readouterr().err


def test_a_file_that_cannot_be_edited_is_refused(here, capfd):
    path = write(here / "home/.claude/settings.json", "{broken")

    assert record("on", "--agent", "claude", "--yes") == USAGE

    assert path.read_text() == "{broken"
    assert read_switch() is None
    assert "settings.json" in capfd.readouterr().err


def test_settings_are_restored_if_the_state_cannot_be_written(here, capfd):
    path = write(here / "home/.claude/settings.json", SETTINGS)
    (here / "data").mkdir()
    (here / "data" / "history").symlink_to("/proc/nowhere")  # as on a full disk

    assert record("on", "--agent", "claude", "--yes") not in (OK, BUG)

    assert path.read_text() == SETTINGS
    err = capfd.readouterr().err
    assert f"{here / 'data' / 'history' / SWITCH} cannot be written" in err
    assert "the settings files are as they were before" in err


def test_nothing_is_written_by_a_dry_run(here):
    path = write(here / "home/.claude/settings.json", SETTINGS)

    assert record("on", "--agent", "claude", "--tap", "--dry-run") == OK

    assert path.read_text() == SETTINGS
    assert read_switch() is None


def test_codex_asks_for_trust(here, capfd):
    record("on", "--agent", "codex", "--yes")

    assert "only after you trust them" in capfd.readouterr().out


def test_a_tapped_command_works_as_before_and_is_recorded(here):
    script = write(here / "project/guard.sh", "#!/bin/sh\necho no >&2\nexit 2\n")
    script.chmod(0o755)
    path = write(here / "project/.claude/settings.json", SETTINGS)
    record("on", "--agent", "claude", "--tap", "--yes")
    value = json.loads(
        "\n".join(line.partition(" //")[0] for line in path.read_text().splitlines()).replace(
            "[],\n  }", "[]\n  }"
        )
    )
    command = value["hooks"]["PreToolUse"][0]["hooks"][0]["command"]

    process = subprocess.run(
        ["sh", "-c", command],
        check=False,
        input=json.dumps(PAYLOAD).encode(),
        capture_output=True,
    )

    assert (process.returncode, process.stderr) == (2, b"no\n")


def test_a_command_in_a_toml_file_is_tapped(here):
    text = (
        '# my guard\n[[hooks.PreToolUse]]\nmatcher = "Bash"\n\n'
        '[[hooks.PreToolUse.hooks]]\ntype = "command"\ncommand = "cat" # all\n'
    )
    path = write(here / "home/.codex/config.toml", text)
    assert record("on", "--agent", "codex", "--tap", "--yes") == OK
    assert count_recorded(get_agent("codex"), path.read_text(), path).taps == 1
    assert record("off", "--yes") == OK
    assert path.read_text() == text


def test_a_tapped_hook_is_shown_as_the_command_that_it_is(here):
    write(here / "project/.claude/settings.json", SETTINGS)
    before = [h.command for d in hooks_of("claude", here).definitions for h in d.handlers]

    record("on", "--agent", "claude", "--tap", "--yes")

    after = [h for d in hooks_of("claude", here).definitions for h in d.handlers]
    commands = [h.command for h in after if RECORDER_FILE.name not in h.command]
    assert commands == before
    assert "guard.sh" in [h.label for h in after]


@pytest.mark.parametrize("other_agents", [(), ("--agent", "gemini")])
def test_a_hook_that_is_disabled_comes_back_without_its_tap(here, other_agents):
    path = write(here / "project/.claude/settings.json", SETTINGS)
    for agents in (("--agent", "claude"), other_agents):
        record("on", *agents, "--tap", "--yes")
    assert main(["disable", "guard.sh", "--agent", "claude"]) == OK
    assert record("off", "--agent", "claude", "--yes") == OK

    assert main(["enable", "guard.sh", "--agent", "claude"]) == OK

    assert "./guard.sh" in path.read_text()
    assert count_recorded(get_agent("claude"), path.read_text(), path).taps == 0


def test_a_hook_that_is_disabled_keeps_its_tap_while_it_is_recorded(here):
    path = write(here / "project/.claude/settings.json", SETTINGS)
    record("on", "--agent", "claude", "--tap", "--yes")
    tapped = path.read_text()

    assert main(["disable", "guard.sh", "--agent", "claude"]) == OK
    assert main(["enable", "guard.sh", "--agent", "claude"]) == OK

    assert path.read_text() == tapped


def test_a_hook_file_is_not_tapped(here):
    settings = {
        "hooks": {
            "Stop": [
                {"hooks": [{"type": "command", "command": "anyhook run hook.py"}]},
                {"hooks": [{"type": "command", "command": "cat"}]},
            ]
        }
    }
    path = write(here / "project/.claude/settings.json", json.dumps(settings))
    record("on", "--agent", "claude", "--tap", "--yes")

    assert path.read_text().count("ANYHOOK_TAP") == 2  # the start and the end of one
    assert '"anyhook run hook.py"' in path.read_text()


@pytest.mark.slow
def test_commands_that_make_up_events_record_none(here):
    record("on", "--agent", "claude", "--yes")
    hook = write(
        here / "project/hook.py",
        "from anyhook.authoring import Hooks, deny\nhooks = Hooks()\n"
        "@hooks.before_tool\ndef guard(event):\n    return deny('no')\n"
        "hooks.example(expect='deny', tool='shell', input={'command': 'x'})\n"
        "if __name__ == '__main__':\n    hooks.run()\n",
    )

    assert main(["test", str(hook)]) == OK

    assert not (here / "data/history/journal").exists()
    assert "ANYHOOK_RECORDED" not in os.environ


def test_old_events_are_removed_by_the_limits(here):
    record("on", "--agent", "claude", "--keep", "1d", "--yes")
    journal = here / "data/history/journal"
    journal.mkdir()
    event = {
        "agent": "claude",
        "event": "before_tool",
        "session": "s",
        "source": "engine",
        "payload": PAYLOAD,
    }
    lines = [json.dumps({**event, "time": moment}) for moment in (1e9, time.time())]
    (journal / "1-1.jsonl").write_text("\n".join(["", *lines, ""]))

    with History.open() as history:
        assert ingest(history).events == 2
        assert history.connection.execute("SELECT count(*) FROM events").fetchone() == (1,)


def test_an_edit_of_a_file_that_its_agent_ignores_is_reported(here, capfd):
    write(here / "home/.claude/settings.json", SETTINGS)

    record("on", "--agent", "claude", "--yes")

    assert "does not accept a comment here and runs no hook" in capfd.readouterr().err


@pytest.mark.slow
def test_the_list_of_hooks_has_one_line_for_the_recorder(here, capfd):
    write(here / "home/.claude/settings.json", SETTINGS)
    record("on", "--agent", "claude", "--yes")
    capfd.readouterr()

    main(["list", "--agent", "claude"])

    out = capfd.readouterr().out
    number = len(recorded_events(get_agent("claude")))
    assert f"and the recorder on {number} events" in out
    assert RECORDER_FILE.name not in out
    assert "guard.sh" in out


@pytest.mark.parametrize(
    "words",
    [
        "history record status",
        "history record on --yes",
        "history record off",
        "shadow guard.sh --yes",
        "history",
    ],
)
def test_a_file_in_place_of_the_data_directory_is_named(here, capfd, words):
    write(here / "project/.claude/settings.json", SETTINGS)
    write(here / "data", "")

    assert main(words.split()) not in (OK, BUG)

    err = capfd.readouterr().err
    assert f"{here / 'data'} is not a directory; move this file away" in err
    assert "remove it" not in err
    assert "Errno" not in err


@pytest.mark.parametrize("words", ["history", "history record on --agent claude --yes"])
def test_a_home_that_is_not_a_directory_is_named(here, capfd, monkeypatch, words):
    file = write(here / "file", "")
    monkeypatch.setenv("HOME", str(file))
    monkeypatch.delenv("ANYHOOK_DATA_DIR")
    write(here / "project/.claude/settings.json", SETTINGS)

    assert main(words.split()) not in (OK, BUG)

    assert f"HOME is {file}, which is not a directory" in capfd.readouterr().err


def test_a_home_that_is_unknown_is_named(here, capfd, monkeypatch):
    write(here / "project/.claude/settings.json", SETTINGS)
    monkeypatch.setenv("HOME", "~nouser")

    assert main(["check"]) == USAGE

    assert "HOME is ~nouser; set it to an absolute path" in capfd.readouterr().err


def test_the_list_goes_on_with_a_file_in_place_of_the_data_directory(here, capfd):
    write(here / "project/.claude/settings.json", SETTINGS)
    write(here / "data", "")

    assert main(["list"]) == OK

    out = capfd.readouterr().out
    assert "guard.sh" in out
    assert f"{here / 'data'} is not a directory; move this file away" in out

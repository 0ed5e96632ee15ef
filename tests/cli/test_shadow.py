"""Hooks that run and do not decide: in settings, in hook files, in engines."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from anyhook import BeforeTool, Engine, RequiredHooksError, deny
from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.authoring import Hooks
from anyhook.cli import OK, USAGE, main
from anyhook.engine.recorder import Recorder
from anyhook.history.ingest import ingest
from anyhook.history.store import History
from anyhook.settings.changes import settings_file
from anyhook.settings.entries import add_definitions
from anyhook.testing import make_payload
from tests.cli.test_record import here, write  # noqa: F401 - a fixture
from tests.waiting import until

PAYLOAD = make_payload("before_tool", agent="claude", tool="shell", input={"command": "rm x"})
HOOK_FILE = (
    "from anyhook.authoring import Hooks, deny\nhooks = Hooks({options})\n"
    "@hooks.before_tool('shell')\ndef guard(event):\n    return deny('not here')\n"
    "if __name__ == '__main__':\n    hooks.run()\n"
)
SETTINGS = """{
  // mine
  "hooks": {
    "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "COMMAND"}]}]
  }
}
"""
SCRIPT = "#!/bin/sh\ncat >/dev/null\necho 'not here' >&2\nexit 2\n"
EVENT = BeforeTool(tool_name="Bash", tool_input={"command": "rm x"}, session_id="s1")


@pytest.fixture
def script(here):  # noqa: F811
    path = write(here / "project/guard.sh", SCRIPT)
    path.chmod(0o755)
    return path


def settings(here, command):  # noqa: F811
    text = SETTINGS.replace("COMMAND", command)
    return write(here / "project/.claude/settings.local.json", text)


def command_in(path):
    text = "".join(line for line in path.read_text().splitlines() if "// mine" not in line)
    return json.loads(text)["hooks"]["PreToolUse"][0]["hooks"][0]["command"]


def run(command, **options):
    return subprocess.run(
        ["sh", "-c", command],
        check=False,
        input=json.dumps(PAYLOAD).encode(),
        capture_output=True,
        **options,
    )


def switch_on(here):  # noqa: F811
    write(here / "data/history/recording.json", "{}")


def journal(here):  # noqa: F811
    files = (here / "data/history/journal").glob("*.jsonl")
    return [line for file in files for line in file.read_text().splitlines() if line]


def test_a_hook_that_is_off_cannot_be_a_shadow(here, script, capfd):  # noqa: F811
    path = settings(here, str(script))
    path.write_text(path.read_text().replace("  // mine\n", ""))
    assert main(["disable", "guard.sh", "--agent", "claude"]) == OK

    assert main(["shadow", "guard.sh", "--agent", "claude", "--yes"]) == USAGE

    assert "anyhook enable guard.sh" in capfd.readouterr().err


def test_fire_shows_what_a_shadow_would_have_answered(here, script, capfd):  # noqa: F811
    path = settings(here, str(script))
    path.write_text(path.read_text().replace("  // mine\n", ""))
    main(["shadow", "guard.sh", "--agent", "claude", "--yes"])
    capfd.readouterr()

    call = ["--tool", "Bash", "--input", '{"command": "rm x"}', "--trust-once"]
    assert main(["fire", "PreToolUse", "--agent", "claude", *call]) == OK

    out = capfd.readouterr().out
    (row,) = [line for line in out.splitlines() if "as a shadow" in line]
    assert "deny" in row
    assert "DENY" not in out


def test_a_narrow_terminal_shows_what_is_a_shadow(here, script, capfd, monkeypatch):  # noqa: F811
    path = settings(here, str(script))
    path.write_text(path.read_text().replace("  // mine\n", ""))
    script.write_text(f"#!/bin/sh\necho '{'no ' * 30}' >&2; exit 2\n")
    main(["shadow", "guard.sh", "--agent", "claude", "--yes"])
    capfd.readouterr()
    monkeypatch.setenv("COLUMNS", "80")

    call = ["--tool", "Bash", "--input", '{"command": "rm x"}', "--trust-once"]
    main(["fire", "PreToolUse", "--agent", "claude", *call])

    out = capfd.readouterr().out
    (row,) = [line for line in out.splitlines() if line.startswith("  guard.sh")]
    assert "as a shadow  deny" in row


def test_a_script_runs_does_not_decide_and_is_promoted(here, script, capfd):  # noqa: F811
    path = settings(here, str(script))
    before = path.read_bytes()
    switch_on(here)

    assert main(["shadow", "guard.sh", "--yes"]) == OK
    result = run(command_in(path))

    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")
    until(lambda: journal(here), "not recorded")
    capfd.readouterr()
    assert main(["enable", "guard.sh", "--dry-run", "--json"]) == OK
    would = json.loads(capfd.readouterr().out)["would_have_decided"]
    assert would["counts"] == {"deny": 1}
    assert would["examples"][0]["reason"] == "not here"
    assert would["examples"][0]["session"] == "test-session"
    assert main(["enable", "guard.sh", "--yes"]) == OK
    assert path.read_bytes() == before
    out = capfd.readouterr().out
    assert "In 1 event of 1 session" in out
    assert "not here" in out


@pytest.mark.parametrize("launcher", ["{bin}/anyhook run", "{bin}/anyhook run --python {python}"])
def test_a_hook_file_gets_an_option(here, launcher):  # noqa: F811
    hook = write(here / "project/hook.py", HOOK_FILE.format(options=""))
    python = Path(sys.executable)
    words = launcher.format(bin=python.parent, python=python)
    path = settings(here, f"{words} {hook}")
    before = path.read_bytes()
    switch_on(here)

    main(["shadow", "hook.py", "--yes"])
    command = command_in(path)
    result = run(command)

    assert command == f"{words} {hook} --shadow"
    assert (result.returncode, result.stdout.strip(), result.stderr) == (0, b"{}", b"")
    (line,) = journal(here)
    record = json.loads(line)
    assert record["decision"] == {}
    assert record["results"][0]["shadow"] is True
    assert record["results"][0]["answer"]["reason"] == "not here"
    main(["enable", "hook.py", "--yes"])
    assert path.read_bytes() == before


@pytest.mark.parametrize("command", ["./wächter.sh", r"./w\u00e4chter.sh", "echo fertig ü >&2"])
def test_a_command_is_written_as_before_when_it_decides_again(here, command):  # noqa: F811
    path = settings(here, command)
    before = path.read_bytes()
    name = "echo" if command.startswith("echo") else "wächter.sh"

    assert main(["shadow", name, "--yes"]) == OK
    assert command in path.read_text()
    assert main(["enable", name, "--yes"]) == OK

    assert path.read_bytes() == before


EXEC_FORM = """{
  "hooks": {
    "PreToolUse": [
      {"hooks": [
        {"type": "command", "command": "./w\u00e4chter.sh", "args": [
          "ü", // first
          "kein\\u00a0rm"
        ]}
      ]}
    ]
  }
}
"""


@pytest.mark.parametrize("has_arguments", [False, True])
@pytest.mark.parametrize("is_tapped", [False, True])
def test_a_tapped_command_is_recorded_again_when_it_decides(
    here,  # noqa: F811
    has_arguments,
    is_tapped,
):
    write(here / "project/wächter.sh", SCRIPT).chmod(0o755)
    path = settings(here, str(here / "project/wächter.sh"))
    if has_arguments:
        path.write_text(EXEC_FORM.replace("./w", f"{here}/project/w"))
    original = path.read_text()
    words = [
        "history",
        "record",
        "on",
        "--agent",
        "claude",
        "--yes",
        *(["--tap"] if is_tapped else []),
    ]
    assert main(words) == OK
    before = path.read_text()

    assert main(["shadow", "wächter.sh", "--yes"]) == OK
    shadow = path.read_text()
    assert main(["enable", "wächter.sh", "--yes"]) == OK

    assert "shadow claude" in " ".join(shadow.replace('", "', " ").split())
    assert path.read_text() == before
    assert ("history" in before) == is_tapped
    assert main(["history", "record", "off", "--yes"]) == OK
    assert path.read_text() == original


def test_a_tapped_command_is_not_recorded_again_when_recording_is_off(here, script):  # noqa: F811
    path = settings(here, str(script))
    before = path.read_bytes()
    assert main(["history", "record", "on", "--agent", "claude", "--tap", "--yes"]) == OK

    assert main(["shadow", "guard.sh", "--yes"]) == OK
    result = run(command_in(path))
    assert (result.returncode, result.stderr) == (0, b"")
    until(lambda: journal(here), "not recorded")
    assert main(["history", "record", "off", "--yes"]) == OK
    assert json.loads(journal(here)[0])["tap"]["shadow"] is True
    assert main(["enable", "guard.sh", "--yes"]) == OK

    assert path.read_bytes() == before


def test_a_hook_can_be_named_by_the_path_of_its_file(here, capfd):  # noqa: F811
    hook = write(here / "project/guards/hook.py", HOOK_FILE.format(options=""))
    path = settings(here, f"anyhook run {hook}")

    assert main(["shadow", "other/hook.py", "--yes"]) != OK
    assert main(["shadow", "./guards/hook.py", "--yes"]) == OK
    assert command_in(path) == f"anyhook run {hook} --shadow"


def test_a_hook_file_can_be_a_shadow_by_itself(here):  # noqa: F811
    hook = write(here / "project/hook.py", HOOK_FILE.format(options="shadow=True"))
    switch_on(here)

    result = run(shlex.join((sys.executable, str(hook))))

    assert (result.returncode, result.stdout.strip(), result.stderr) == (0, b"{}", b"")
    assert json.loads(journal(here)[0])["results"][0]["shadow"] is True


@pytest.mark.parametrize("body", ["raise ValueError", "import sys; sys.exit(2)", "return 7"])
def test_a_shadow_that_fails_closed_does_not_decide(here, body):  # noqa: F811
    text = HOOK_FILE.format(options="shadow=True, on_crash='deny'")
    hook = write(here / "project/hook.py", text.replace("return deny('not here')", body))

    result = run(shlex.join((sys.executable, str(hook))))

    assert (result.returncode, result.stdout.strip()) == (0, b"{}")


def test_a_shadow_whose_reply_cannot_be_made_does_not_decide(here):  # noqa: F811
    body = "import sys; sys.modules['anyhook.authoring.degrade'] = None; return deny('not here')"
    text = HOOK_FILE.format(options="shadow=True")
    hook = write(here / "project/hook.py", text.replace("return deny('not here')", body))

    result = run(shlex.join((sys.executable, str(hook))))

    assert (result.returncode, result.stdout) == (0, b"")


def test_a_shadow_without_an_event_succeeds(here):  # noqa: F811
    hook = write(here / "project/hook.py", HOOK_FILE.format(options="on_crash='deny'"))

    process = subprocess.run(
        [sys.executable, str(hook), "--shadow"], check=False, input=b"no json", capture_output=True
    )

    assert (process.returncode, process.stdout, process.stderr) == (0, b"", b"")


def test_it_is_a_shadow_in_the_list_and_in_the_report(here, script, capfd):  # noqa: F811
    settings(here, str(script))
    main(["trust", "--yes"])
    main(["shadow", "guard.sh", "--yes"])
    capfd.readouterr()

    main(["list", "--json"])

    (row,) = json.loads(capfd.readouterr().out)
    assert (row["state"], row["name"], row["command"]) == ("shadow", "guard.sh", str(script))
    main(["check", "--json"])
    assert "shadow-hook" in capfd.readouterr().out


CONTEXT = '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": "mind"}}'
CONTEXT_SCRIPT = f"#!/bin/sh\ncat >/dev/null\ntest -e deny && exit 2\necho '{CONTEXT}'\n"


@pytest.mark.slow
def test_what_it_would_have_decided_is_counted_without_examples(here, capfd):  # noqa: F811
    hook = write(here / "project/kein rm.sh", CONTEXT_SCRIPT)
    hook.chmod(0o755)
    path = settings(here, f"'{hook}'")
    switch_on(here)
    main(["shadow", "kein rm.sh", "--yes"])
    run(command_in(path))
    write(here / "project/deny", "")
    run(command_in(path))
    until(lambda: len(journal(here)) == 2, "not recorded")
    capfd.readouterr()

    assert main(["enable", "kein rm.sh", "--dry-run", "--examples", "0"]) == OK

    lines = [line.split() for line in capfd.readouterr().out.splitlines()]
    assert ["change", "1"] in lines
    assert ["deny", "1"] in lines
    assert main(["enable", "kein rm.sh", "--dry-run", "--examples", "-1"]) == USAGE
    main(["check"])
    assert "anyhook enable 'kein rm.sh'" in " ".join(capfd.readouterr().out.split())


@pytest.mark.parametrize("is_in_files", [False, True])
def test_what_another_hook_of_the_same_name_would_have_decided_is_left_out(
    here,  # noqa: F811
    capfd,
    is_in_files,
):
    commands = [f"cat >/dev/null; echo {word} >&2; exit 2" for word in ("one", "two")]
    for number, text in enumerate(commands if is_in_files else ()):
        script = write(here / f"project/{number}/check.sh", f"#!/bin/sh\n{text}\n")
        script.chmod(0o755)
        commands[number] = str(script)
    hooks = [{"type": "command", "command": command} for command in commands]
    text = json.dumps({"hooks": {"PreToolUse": [{"hooks": hooks}]}}, indent=1)
    path = write(here / "project/.claude/settings.local.json", text)
    lines = [n for n, line in enumerate(text.splitlines(), 1) if '"type"' in line]
    places = [f".claude/settings.local.json:{line - 1}" for line in lines]
    switch_on(here)
    for place in places:
        assert main(["shadow", place, "--yes"]) == OK
    for hook in json.loads(path.read_text())["hooks"]["PreToolUse"][0]["hooks"]:
        run(hook["command"])
    until(lambda: len(journal(here)) == 2, "not recorded")

    for place, reason in zip(places, ("one", "two"), strict=True):
        capfd.readouterr()
        assert main(["enable", place, "--dry-run", "--json"]) == OK
        decisions = json.loads(capfd.readouterr().out)["would_have_decided"]
        assert decisions["counts"] == {"deny": 1}
        assert [example["reason"] for example in decisions["examples"]] == [reason]


def test_what_a_shadow_of_another_project_would_have_decided_is_left_out(
    here,  # noqa: F811
    script,
    capfd,
):
    other = write(here / "other/guard.sh", SCRIPT.replace("not here", "not there"))
    other.chmod(0o755)
    switch_on(here)
    for file in (script, other):
        text = SETTINGS.replace("COMMAND", str(file))
        path = write(file.parent / ".claude/settings.local.json", text)
        assert main(["shadow", "guard.sh", "--yes", "--project", str(file.parent)]) == OK
        run(command_in(path))
    until(lambda: len(journal(here)) == 2, "not recorded")
    capfd.readouterr()

    assert main(["enable", "guard.sh", "--dry-run", "--json"]) == OK

    decisions = json.loads(capfd.readouterr().out)["would_have_decided"]
    assert decisions["counts"] == {"deny": 1}
    assert [example["reason"] for example in decisions["examples"]] == ["not here"]


def test_no_path_of_this_machine_is_written_into_a_shared_file(here, script, capfd):  # noqa: F811
    local = settings(here, str(script))
    shared = local.rename(local.with_name("settings.json"))
    before = shared.read_bytes()

    assert main(["shadow", "guard.sh", "--yes"]) == USAGE

    assert "a file that is shared" in capfd.readouterr().err
    assert shared.read_bytes() == before


def test_switching_twice_changes_nothing_more(here, script, capfd):  # noqa: F811
    path = settings(here, str(script))
    main(["shadow", "guard.sh", "--yes"])
    text = path.read_text()

    assert main(["shadow", "guard.sh", "--yes"]) == OK

    assert path.read_text() == text
    assert "is a shadow already" in capfd.readouterr().out


def test_a_shadow_that_is_off_is_first_switched_on(here, script, capfd):  # noqa: F811
    path = settings(here, str(script))
    before = path.read_bytes()
    main(["shadow", "guard.sh", "--yes"])
    shadow = path.read_bytes()
    main(["disable", "guard.sh"])

    assert main(["enable", "guard.sh"]) == OK
    assert path.read_bytes() == shadow
    assert "give this command again" in capfd.readouterr().out
    assert main(["enable", "guard.sh", "--yes"]) == OK
    assert path.read_bytes() == before
    assert main(["enable", "guard.sh"]) == OK
    assert "was on already" in capfd.readouterr().out


def test_a_hook_that_does_the_work_of_the_agent_cannot_be_a_shadow(here, script, capfd):  # noqa: F811
    path = settings(here, str(script))
    path.write_text(path.read_text().replace("PreToolUse", "WorktreeCreate"))

    assert main(["shadow", "guard.sh", "--yes"]) == USAGE

    assert "does the agent's work" in capfd.readouterr().err


@pytest.mark.anyio
async def test_in_an_engine_its_answer_is_recorded_and_does_not_count(here, script):  # noqa: F811
    settings(here, str(script))
    main(["shadow", "guard.sh", "--yes"])
    engine = Engine.load(here / "project", agent="claude", home=here / "home", trust_once=True)
    engine.add_observer(Recorder(engine.project_dir))

    decision = await engine.dispatch(EVENT)

    assert str(decision.outcome) == "none"
    assert decision.messages == ()
    (result,) = decision.results
    assert (str(result.answer.outcome), str(result.shadow_answer.outcome)) == ("none", "deny")
    with History.open() as history:
        ingest(history)
        row = history.connection.execute(
            "SELECT shadow, results.verdict, events.verdict FROM results"
            " JOIN events ON events.id = event_id"
        ).fetchone()
    assert row == (1, "deny", "none")


@pytest.mark.anyio
async def test_registered_functions_of_a_shadow_do_not_decide(here):  # noqa: F811
    hooks = Hooks(shadow=True)
    hooks.before_tool(lambda event: deny("no"))
    engine = Engine.load(here / "project", agent="claude", home=here / "home")
    hooks.register(engine)

    decision = await engine.dispatch(EVENT)

    assert str(decision.outcome) == "none"
    assert str(decision.results[0].shadow_answer.outcome) == "deny"


@pytest.mark.parametrize("require", [True, ["before_tool"]])
def test_a_shadow_is_not_what_a_host_requires(here, script, require):  # noqa: F811
    settings(here, str(script))
    options = {"agent": "claude", "home": here / "home", "trust_once": True, "require": require}
    Engine.load(here / "project", **options)
    main(["shadow", "guard.sh", "--yes"])

    with pytest.raises(RequiredHooksError, match="runs as a shadow"):
        Engine.load(here / "project", **options)


@pytest.mark.parametrize("shadow_first", [True, False])
@pytest.mark.parametrize("name", CODING_AGENTS)
def test_a_shadow_never_stands_in_for_the_live_hook(project, name, shadow_first):
    """The agent sees two command lines: the shadow has `--shadow`."""
    agent = get_agent(name)
    event = agent.by_canonical["before_tool"]
    commands = ["anyhook run guard.py", "anyhook run guard.py --shadow"]
    definitions = []
    for command in reversed(commands) if shadow_first else commands:
        definition = {"hooks": [{"type": "command", "command": command}]}
        if event.writes_matchers:
            definition["matcher"] = agent.vocabulary.name("shell")
        definitions.append(definition)
    path = settings_file(agent, project, "project")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(add_definitions(agent, "", str(path), {event.wire: definitions}))

    engine = Engine.load(project, agent=name, on_message=lambda _: None)
    plan = engine.plan(BeforeTool(tool_name=agent.vocabulary.name("shell"), tool_input={}))

    assert [handler.shadow for handler in plan.handlers] == [shadow_first, not shadow_first]

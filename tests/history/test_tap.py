"""Hooks in an agent's settings that are recorded: nothing changes for the agent."""

from __future__ import annotations

import functools
import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from anyhook.history import imports
from anyhook.history.ingest import ingest
from anyhook.history.store import History
from anyhook.journal import lines as journal
from anyhook.shell.tapped import read_tapped_line, read_tapped_words, write_tapped
from anyhook.testing import make_payload
from tests.waiting import until

TAP = Path(imports.__file__).with_name("tap.py")
PAYLOAD = make_payload("before_tool", agent="claude", tool="shell", input={"command": "rm x"})
EVENT = json.dumps(PAYLOAD).encode()
SECRET = "ghp_" + "a1B2" * 9
MARK = "ANYHOOK_TAP"


class Tapped:
    """Commands as an agent runs them, with a history of their own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.history = root / "data" / "history"
        self.history.mkdir(parents=True)
        (self.history / journal.SWITCH).write_text("{}")
        self.env = {**os.environ, "ANYHOOK_DATA_DIR": str(root / "data")}

    def start_words(self, sink="history"):
        return [sys.executable, "-I", "-S", str(TAP), sink, "claude"]

    def line(self, command, sink="history"):
        return write_tapped(self.start_words(sink), command, MARK)

    def run(self, command, sink="history", **options):
        options = {"input": EVENT, "capture_output": True, "env": self.env, **options}
        line = command if sink is None else self.line(command, sink)
        return subprocess.run(["sh", "-c", line], check=False, cwd=self.root, **options)

    def start(self, command, sink="history", **options):
        line = command if sink is None else self.line(command, sink)
        options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, **options}
        return subprocess.Popen(["sh", "-c", line], env=self.env, cwd=self.root, **options)

    @property
    def lines(self):
        texts = [file.read_text() for file in (self.history / "journal").glob("*.jsonl")]
        # A line without its end is still being written.
        complete = [text[: text.rfind("\n") + 1] for text in texts]
        return [json.loads(line) for line in "".join(complete).splitlines() if line]

    def records(self, count=1):
        until(lambda: len(self.lines) >= count, "not recorded")
        return self.lines

    def results(self, count=1):
        self.records(count)
        with History.open(self.history) as history:
            assert ingest(history).problems == []
            columns = (
                "agent session event tool events.verdict source payload decision label place"
                " file digest status duration exit_code signal shadow error answer stdout stderr"
                " truncated"
            ).split()
            rows = history.connection.execute(
                f"SELECT {', '.join(columns)} FROM events JOIN bodies ON bodies.event_id ="
                " events.id JOIN sessions ON sessions.id = session_id"
                " JOIN results ON results.event_id = events.id"
                " JOIN hooks ON hooks.id = hook_id ORDER BY events.id"
            )
            return [dict(zip(columns, row, strict=True)) for row in rows]


@pytest.fixture
def tapped(tmp_path):
    return Tapped(tmp_path)


COMMANDS = [
    "cat",
    "cat; echo out; echo err >&2; exit 2",
    "true",
    "exit 1",
    "no-such-program-here",
    "./no-such-script.sh",
    "printf 'a\\0b\\377'",
    "head -c 1",
    "if then",
    "echo one\necho two",
    "exec 1>&-; exec 2>&-; exit 3",
    "exec 0<&-; cat",
    "kill -KILL $$",
    "kill -TERM $$",
    "kill -SEGV $$",
    "yes | head -c 3000000",
    "head -c 300000 /dev/urandom >/dev/null; seq 100000 >&2; seq 100000",
    "trap '' PIPE; echo x; sleep 0",
    "ulimit -n 20; cat; echo $?",
    "(sleep 0.05; echo late) & echo first",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_output_errors_and_exit_code_are_those_of_the_command(tapped, command):
    plain = tapped.run(command, sink=None)
    recorded = tapped.run(command)

    assert recorded.stdout == plain.stdout
    assert recorded.stderr == plain.stderr
    assert recorded.returncode == plain.returncode


def test_what_a_command_got_and_answered_is_recorded(tapped):
    tapped.run("cat >/dev/null; echo 'not here' >&2; exit 2")

    (result,) = tapped.results()

    assert (result["agent"], result["session"]) == ("claude", "test-session")
    assert (result["event"], result["tool"], result["source"]) == ("before_tool", "shell", "tap")
    assert json.loads(result["payload"]) == PAYLOAD
    assert (result["events.verdict"], result["exit_code"]) == ("deny", 2)
    assert json.loads(result["answer"])["reason"] == "not here"
    assert (result["status"], result["stderr"]) == ("ran", "not here\n")
    assert 0 < result["duration"] < 60


def test_the_script_of_a_command_is_recorded_with_its_version(tapped):
    script = tapped.root / "guard.sh"
    script.write_text("#!/bin/sh\nexit 0\n")

    tapped.run(f"sh {script}")

    (result,) = tapped.results()
    assert (result["label"], result["file"]) == ("guard.sh", str(script))


def test_a_script_in_the_directory_of_the_project_is_recorded_with_its_version(tapped):
    script = tapped.root / "hooks" / "guard.sh"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\nexit 0\n")

    environment = {**tapped.env, "CLAUDE_PROJECT_DIR": str(tapped.root)}
    tapped.run('sh "$CLAUDE_PROJECT_DIR"/hooks/guard.sh', env=environment)

    (result,) = tapped.results()
    assert (result["label"], result["file"]) == ("guard.sh", str(script))
    assert result["digest"] is not None


def test_scripts_of_one_name_are_told_apart_by_their_place(tapped):
    for directory in ("a", "b"):
        script = tapped.root / directory / "check.sh"
        script.parent.mkdir()
        script.write_text("#!/bin/sh\nexit 0\n")
        tapped.run(f"sh {script}")

    places = [result["place"] for result in tapped.results(2)]
    assert places == [str(tapped.root / name / "check.sh") for name in ("a", "b")]


def test_a_script_that_was_edited_after_it_ran_has_no_known_content(tapped):
    script = tapped.root / "guard.sh"
    script.write_text("#!/bin/sh\nexit 2\n")
    tapped.run(f"sh {script}")
    tapped.records()

    script.write_text("#!/bin/sh\nexit 0\n")

    (result,) = tapped.results()
    assert result["file"] == str(script)
    assert result["digest"] is None


def test_a_decision_in_json_is_recorded(tapped):
    reply = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask"}}

    tapped.run(f"echo {shlex.quote(json.dumps(reply))}")

    (result,) = tapped.results()
    assert result["events.verdict"] == "ask"


def test_an_event_that_the_command_does_not_read_is_recorded(tapped):
    payload = {**PAYLOAD, "more": "x" * 200_000}

    tapped.run("exit 0", input=json.dumps(payload).encode())

    (record,) = tapped.records()
    assert record["payload"] == payload


def test_no_secret_is_written_at_any_time(tapped):
    token = "plain-value-of-a-variable"
    tapped.env["MY_API_TOKEN"] = token
    payload = {**PAYLOAD, "tool_input": {"command": f"{SECRET} {token}"}}

    tapped.run(f"cat; echo {SECRET}; echo {token} >&2", input=json.dumps(payload).encode())

    tapped.results()
    for file in (tapped.root / "data").rglob("*"):
        content = file.read_bytes() if file.is_file() else b""
        assert SECRET.encode() not in content
        assert token.encode() not in content


@pytest.mark.parametrize("size", [3_000_000, 0])
def test_input_and_output_pass_whole(tapped, size):
    data = os.urandom(size)

    assert tapped.run("cat", input=data).stdout == data


def test_standard_input_that_stays_open_does_not_delay_the_end(tapped):
    with tapped.start("exit 3") as process:
        assert process.wait(30) == 3
    assert tapped.start("echo x", stdin=None).communicate(timeout=30)[0] == b"x\n"


def test_closed_standard_streams_stay_closed(tapped):
    script = tapped.root / "closed.py"
    script.write_text(
        "import os\nfor number in 0, 1:\n    try:\n        os.fstat(number)\n"
        "        os.write(2, b'open')\n    except OSError:\n        pass\n"
    )
    line = f"python3 {script}"
    for sink in (None, "history"):
        command = line if sink is None else tapped.line(line)
        process = subprocess.run(
            ["sh", "-c", f"exec 0<&- 1>&-; {command}"],
            check=False,
            stderr=subprocess.PIPE,
            env=tapped.env,
        )
        assert process.stderr == b""


@pytest.mark.parametrize("target", ["process", "group"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_reaches_the_command(tapped, number, target):
    name = number.name.removeprefix("SIG")
    line = (  # it waits for the first signal, and then for a second one
        f"count=0; trap 'count=$((count + 1))' {name}; echo ready; left=500;"
        " while [ $left -gt 0 ]; do sleep 0.02;"
        " if [ $count -gt 0 ] && [ $left -gt 10 ]; then left=10; fi; left=$((left - 1)); done;"
        " echo $count; exit 4"
    )
    by_default = functools.partial(signal.signal, number, signal.SIG_DFL)  # `nohup` ignores one
    with tapped.start(line, start_new_session=True, preexec_fn=by_default) as process:
        assert process.stdout.readline() == b"ready\n"
        if target == "group":
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
        # The wrapper cannot know that the whole group has got it.
        assert process.stdout.read() in ([b"1\n"] if target == "process" else [b"1\n", b"2\n"])
    assert process.returncode == 4


@pytest.mark.parametrize("target", ["process", "group"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_command_that_the_agent_ends_is_recorded(tapped, number, target):
    with tapped.start("cat; echo $$; exec sleep 1000", start_new_session=True) as process:
        process.stdin.write(EVENT)
        process.stdin.close()
        output = b""
        while not output.rpartition(b"}")[2].strip():
            output += os.read(process.stdout.fileno(), 65536)
        command = int(output.rpartition(b"}")[2])
        if target == "group":
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
        assert process.wait(30) == -number
        assert process.stdout.read() == b""
    until(lambda: not is_running(command), "the command outlives its wrapper")

    (result,) = tapped.results()
    assert json.loads(result["payload"]) == PAYLOAD
    if number is signal.SIGTERM:
        assert result["signal"] == "SIGTERM"
    else:
        assert (result["status"], result["error"]) == ("timed_out", "the agent killed it")


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.slow
def test_a_process_that_is_left_behind_keeps_the_output_open_and_is_heard(tapped):
    fifo = tapped.root / "fifo"
    os.mkfifo(fifo)

    with tapped.start(f"(read line <{fifo}; echo $line) & echo first") as process:
        assert process.stdout.readline() == b"first\n"
        assert process.wait(30) == 0
        tapped.records()  # it is not waited for
        fifo.write_text("second\n")
        assert process.stdout.read() == b"second\n"


def test_an_output_that_is_not_read_fails_for_the_command(tapped):
    line = "trap '' TERM; (yes; echo $? >status) 2>/dev/null; exit 5"
    for sink in (None, "history"):
        with tapped.start(line, sink) as process:
            process.stdout.read(10)
            process.stdout.close()
            assert process.wait(30) == 5
        assert (tapped.root / "status").read_text() != "0\n"


def test_a_tap_inside_an_engine_is_the_command_itself(tapped):
    tapped.env["ANYHOOK_RECORDED"] = "1"

    assert tapped.run("echo $PPID; exit 2").returncode == 2
    assert tapped.lines == []


def test_the_command_is_not_recorded_again_by_a_hook_file_in_it(tapped):
    assert tapped.run("echo $ANYHOOK_RECORDED").stdout == b"1\n"


def test_nothing_is_recorded_when_recording_is_off(tapped):
    (tapped.history / journal.SWITCH).unlink()

    assert tapped.run("echo x").stdout == b"x\n"
    assert not (tapped.history / "journal").exists()


def test_a_history_that_cannot_be_written_changes_nothing(tapped):
    (tapped.history / "journal").symlink_to("/dev/full")

    assert tapped.run("echo x; exit 2").returncode == 2
    until(lambda: (tapped.history / "problem.txt").exists(), "not reported")


def test_a_program_with_arguments_gets_them_as_they_are(tapped):
    arguments = [sys.executable, "-c", "import sys; print(sys.argv[1:]); sys.exit(2)", "a b", "$X"]

    process = subprocess.run(
        [*tapped.start_words(), "--", *arguments],
        check=False,
        input=EVENT,
        capture_output=True,
        env=tapped.env,
    )

    assert (process.stdout, process.returncode) == (b"['a b', '$X']\n", 2)
    assert tapped.results()[0]["events.verdict"] == "deny"


def test_a_script_without_an_interpreter_is_run_by_the_shell(tapped):
    script = tapped.root / "script"
    script.write_text("echo $0 $1\n")
    script.chmod(0o755)

    process = subprocess.run(
        [*tapped.start_words(), "--", str(script), "x"],
        check=False,
        input=EVENT,
        capture_output=True,
        env=tapped.env,
    )

    assert process.stdout == f"{script} x\n".encode()


def test_a_shadow_prints_nothing_and_succeeds(tapped):
    process = tapped.run("cat; echo no >&2; exit 2", sink="shadow")

    assert (process.stdout, process.stderr, process.returncode) == (b"", b"", 0)
    (result,) = tapped.results()
    assert (result["shadow"], result["exit_code"]) == (1, 2)
    assert json.loads(result["answer"])["outcome"] == "deny"
    assert (result["events.verdict"], result["decision"]) == ("none", "{}")


def test_a_tapped_command_is_read_again(tapped):
    line = "echo 'x'\necho y"
    read = read_tapped_line(tapped.line(line))
    assert (read.sink, read.line) == ("history", line)
    read = read_tapped_words([*tapped.start_words("shadow"), "--", "guard", "--x"])
    assert (read.sink, read.words) == ("shadow", ("guard", "--x"))
    assert read_tapped_line("exec cat") is None
    assert read_tapped_line("echo tap.py") is None


@pytest.mark.parametrize("on_crash", ["deny", "allow"])
def test_the_crash_of_a_hook_file_is_recorded_as_a_failure(tapped, on_crash):
    guard = tapped.root / "guard.py"
    guard.write_text(
        "from anyhook.authoring import Hooks\n"
        f"hooks = Hooks(on_crash={on_crash!r})\n"
        "@hooks.before_tool('shell')\n"
        "def guard(event):\n"
        "    raise KeyError(event.tool)\n"
        "hooks.run()\n"
    )
    tapped.run(shlex.join([sys.executable, str(guard)]))

    (result,) = tapped.results()

    assert result["status"] == "failed"
    assert result["error"] == "hook guard (guard.py:3) failed (KeyError)"
    assert result["events.verdict"] == ("deny" if on_crash == "deny" else "change")

"""The recorder of hooks: everything passes through it unchanged, and leaves a record."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys

import pytest

from anyhook.agents import get_agent
from anyhook.probe.configured import Taps
from tests.waiting import until

PAYLOAD = b'{"tool_name": "Bash", "text": "\xc3\xa4"}\n'
SHELLS = ["sh", "bash"]


@pytest.fixture
def taps(tmp_path):
    directory = tmp_path / "records"
    directory.mkdir()
    return Taps(get_agent("claude"), directory, lambda text: text)


def wrapped(taps, line):
    text = taps.wrap(settings(line), "settings.json", ("hooks",))
    return read_command(text)


def settings(line):
    handler = {"type": "command", "command": line}
    return json.dumps({"hooks": {"PreToolUse": [{"hooks": [handler]}]}})


def read_command(text):
    return json.loads(text)["hooks"]["PreToolUse"][0]["hooks"][0]["command"]


def run(command, shell="sh", **options):
    options = {"input": PAYLOAD, "capture_output": True, **options}
    return subprocess.run([shell, "-c", command], check=False, **options)


LINES = [
    "cat",
    "cat; echo out; echo err >&2; exit 2",
    "true",
    "exit 1",
    "no-such-program-here",
    "./no-such-script.sh",
    "echo 'single' \"double $HOME\" `echo tick` $((1 + 1)) \\n",
    "printf 'a\\0b'",
    "head -c 1",
    "if then",
    "cat <<X\nhere $HOME\nX",
    "echo one\necho two",
]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("line", LINES)
def test_output_errors_and_exit_code_are_those_of_the_command(taps, tmp_path, line, shell):
    plain = run(line, shell, cwd=tmp_path)
    recorded = run(wrapped(taps, line), shell, cwd=tmp_path)
    assert (recorded.stdout, recorded.returncode) == (plain.stdout, plain.returncode)
    assert recorded.stderr == plain.stderr
    [record] = taps.records()
    assert record.ended
    assert record.exit_code == plain.returncode
    assert record.stdout == plain.stdout.decode()
    assert record.stderr == plain.stderr.decode()
    assert record.payload == {"tool_name": "Bash", "text": "ä"}


def test_a_script_that_may_not_be_executed_fails_as_it_would(taps, tmp_path):
    script = tmp_path / "guard.sh"
    script.write_text("#!/bin/sh\nexit 2\n")
    line = shlex.quote(str(script))
    assert run(wrapped(taps, line)).returncode == run(line).returncode == 126


def test_large_input_and_output_pass_whole(taps):
    data = os.urandom(3_000_000)
    assert run(wrapped(taps, "cat"), input=data).stdout == data


def test_a_command_that_a_signal_ends_ends_the_recorder_by_the_same_signal(taps):
    assert run(wrapped(taps, "kill -USR1 $$")).returncode == -signal.SIGUSR1
    [record] = taps.records()
    assert record.signal == signal.SIGUSR1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_reaches_the_command(taps, number):
    name = signal.Signals(number).name.removeprefix("SIG")
    line = f"trap 'echo caught; exit 3' {name}; echo ready; while :; do sleep 0.01; done"
    with subprocess.Popen(
        ["sh", "-c", wrapped(taps, line)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(number)
        assert process.stdout.read() == b"caught\n"
    assert process.returncode == 3


def test_a_command_does_not_outlive_a_recorder_that_is_killed(taps):
    line = "echo $$; exec sleep 1000"
    with subprocess.Popen(
        ["sh", "-c", wrapped(taps, line)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        command = int(process.stdout.readline())
        process.kill()
        until(lambda: has_ended(command))
    [record] = taps.records()
    assert not record.ended


def has_ended(process):
    """Return whether a process that is no child of this one has ended."""
    shown = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(process)], capture_output=True, check=False
    )
    return shown.stdout.strip()[:1] in (b"", b"Z")


def test_a_process_that_is_left_behind_keeps_the_output_open(taps):
    line = "(read line </dev/null; exec sleep 1000) & echo $!"
    with subprocess.Popen(
        ["sh", "-c", wrapped(taps, line)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    ) as process:
        left_behind = int(process.stdout.readline())
        assert process.wait(30) == 0
        os.kill(left_behind, signal.SIGKILL)
        assert process.stdout.read() == b""


def test_a_program_with_arguments_gets_them_as_they_are(taps):
    script = "import sys; print(sys.argv[1:]); sys.exit(2)"
    arguments = ["-c", script, "a b", "$HOME", "'", "ANYHOOK_PROBE_0"]
    handler = {"type": "command", "command": sys.executable, "args": arguments}
    text = json.dumps({"hooks": {"PreToolUse": [{"hooks": [handler]}]}})
    changed = json.loads(taps.wrap(text, "settings.json", ("hooks",)))
    new = changed["hooks"]["PreToolUse"][0]["hooks"][0]
    plain = subprocess.run([sys.executable, *arguments], capture_output=True, check=False)
    process = subprocess.run([new["command"], *new["args"]], capture_output=True, check=False)
    assert (process.stdout, process.returncode) == (plain.stdout, 2)
    [record] = taps.records()
    assert record.exit_code == 2


def test_a_program_that_does_not_exist_is_left_to_the_agent(taps):
    handler = {"type": "command", "command": "no-such-program-here", "args": []}
    text = json.dumps({"hooks": {"PreToolUse": [{"hooks": [handler]}]}})
    assert taps.wrap(text, "settings.json", ("hooks",)) == text


def test_everything_but_the_commands_stays_as_it_is(taps):
    text = """{ // settings
  "hooks": {
    "PreToolUse": [ {"matcher": ["wrong"], "hooks": [{"type":"command","command":"cat"},]}, ],
    "Typo": [{"hooks": [{"type": "command", "command": "cat", "timeout": "x"}]}]
  }, "permissions": {"allow": 3}
}
"""
    changed = taps.wrap(text, "settings.json", ("hooks",))
    commands = [part for part in changed.split('"') if part.startswith("exec ")]
    assert len(commands) == 2
    for command in commands:
        changed = changed.replace(_string(changed, command), '"cat"')
    assert changed == text


def _string(text, start):
    """Return the JSON string in a text that begins like `start`."""
    position = text.index(f'"{start}')
    _, end = json.JSONDecoder().raw_decode(text, position)
    return text[position:end]


def test_a_file_that_is_no_json_stays_as_it_is(taps):
    text = settings("cat")[:-1]
    assert taps.wrap(text, "settings.json", ("hooks",)) == text


def test_each_hook_has_a_number_of_its_own_also_with_an_equal_command(taps):
    handlers = [{"type": "command", "command": "cat"}] * 2
    groups = [{"matcher": matcher, "hooks": handlers} for matcher in ("Bash", "Write")]
    text = json.dumps({"hooks": {"PreToolUse": groups, "PostToolUse": groups}})
    value = json.loads(taps.wrap(text, "settings.json", ("hooks",)))
    commands = [
        handler["command"]
        for groups in value["hooks"].values()
        for group in groups
        for handler in group["hooks"]
    ]
    assert len(set(commands)) == len(commands) == 8
    assert taps.wrap(text, "other.json", ("hooks",)) != taps.wrap(text, "settings.json", ("hooks",))
    assert json.loads(taps.wrap(text, "settings.json", ("hooks",))) == value


def test_a_list_of_disabled_hooks_names_the_recorded_commands(tmp_path):
    taps = Taps(get_agent("gemini"), tmp_path, lambda text: text)
    handler = {"type": "command", "command": "cat"}
    value = {
        "hooks": {"BeforeTool": [{"hooks": [handler]}]},
        "hooksConfig": {"disabled": ["other", "cat"]},
    }
    changed = json.loads(taps.wrap(json.dumps(value), "settings.json", ("hooks",)))
    command = changed["hooks"]["BeforeTool"][0]["hooks"][0]["command"]
    assert changed["hooksConfig"]["disabled"] == ["other", "cat", command]


def test_the_recorder_imports_nothing_of_the_package(taps):
    line = wrapped(taps, "true").replace(" -I ", " -X importtime -I ", 1)
    loaded = run(line).stderr.decode()
    assert "pathlib" not in loaded
    assert "anyhook" not in loaded

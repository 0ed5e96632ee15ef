"""The shim as an agent starts it: hostile commands, hostile hosts, and nothing left behind."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import shlex
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import anyio
import pytest

from anyhook import BeforeTool
from anyhook.migrate.options import parse_shim_options, write_options
from anyhook.processes.result import REPLY_LIMIT
from tests.leftovers import MARK, none_left
from tests.waiting import until
from tests.world import World

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="looks for leftovers in /proc"),
]

SHIM = [sys.executable, "-P", "-m", "anyhook", "shim"]
FLOOD = f"head -c {REPLY_LIMIT + 1000} /dev/zero | tr '\\0' x"
HOST_VARIABLES = ("CLAUDE", "GEMINI", "TERMINAI", "ANYHOOK")
COMMON = {"session_id": "s1", "transcript_path": "/t", "cwd": "/"}
GEMINI = {
    **COMMON,
    "hook_event_name": "BeforeTool",
    "timestamp": "2026-01-01T00:00:00Z",
    "tool_name": "run_shell_command",
    "tool_input": {"command": "rm x"},
}
CLAUDE = {
    **COMMON,
    "hook_event_name": "PreToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": "rm x"},
}
DENY = "echo no >&2; exit 2"
DENY_JSON = """echo '{"decision": "block", "reason": "no"}'"""
DENIED = {"decision": "deny", "reason": "no"}


def runner(setup: str) -> list[str]:
    """Return a program that runs the shim's own main in a process that was prepared before."""
    text = (
        f"import sys\n{setup}\nfrom anyhook.migrate.shim import main\nsys.exit(main(sys.argv[1:]))"
    )
    return [sys.executable, "-P", "-c", text]


WITHOUT_PIDFD = runner("import os; del os.pidfd_open")
WATCHES = {"pidfd": SHIM, "thread": WITHOUT_PIDFD}


@pytest.fixture(params=WATCHES)
def program(request):
    """Where there is no pidfd, a thread waits for the end of the command."""
    return WATCHES[request.param]


class HookRun:
    """How a shim ended."""

    def __init__(self, code, out, err):
        self.code, self.out = code, out
        self.err = err.decode("utf-8", "replace")

    @property
    def answer(self):
        return json.loads(self.out)


@pytest.fixture
def host(tmp_path):
    """Start a shim as a host does: `host(...)` waits for its end, `host.start(...)` does not."""
    with none_left(uuid.uuid4().hex) as env:
        yield Host(
            tmp_path,
            {k: v for k, v in env.items() if k == MARK or not k.startswith(HOST_VARIABLES)},
        )


class Host:
    def __init__(self, cwd, env):
        self.cwd, self.env = cwd, env

    def start(self, *words, source="claude", program=SHIM, location="", env=None, **streams):
        argv = [*program, "--as", source, *words]
        if location:  # a line of the shell around the shim: it closes streams, ignores signals
            argv = ["sh", "-c", f"{location}", "sh", *argv]
        for name in ("stdin", "stdout", "stderr"):
            streams.setdefault(name, subprocess.PIPE)
        return subprocess.Popen(argv, cwd=self.cwd, env={**self.env, **(env or {})}, **streams)

    def __call__(self, *words, event=GEMINI, **options):
        text = event if isinstance(event, bytes) else json.dumps(event).encode()
        with self.start(*words, **options) as process:
            out, err = process.communicate(text, timeout=40)
        return HookRun(process.returncode, out or b"", err or b"")

    def path(self, name):
        return self.cwd / name

    def seen(self, name="seen"):
        return self.path(name).read_text()


# -- bytes


def test_a_denial_is_put_in_the_words_of_the_host(host, program):
    ran = host("--", DENY, program=program)

    assert (ran.code, ran.answer, ran.err) == (0, DENIED, "no\n")


@pytest.mark.parametrize("event", [GEMINI, CLAUDE], ids=["translated", "relayed"])
def test_a_payload_of_five_megabytes_arrives_whole(host, program, event):
    text = "x" * 5_000_000
    large = {**event, "tool_input": {"command": text}}

    ran = host("--", "cat > seen; exit 0", event=large, program=program)

    assert ran.code == 0
    assert json.loads(host.seen())["tool_input"]["command"] == text


def test_a_large_payload_that_the_command_does_not_read_is_no_error(host, program):
    large = {**GEMINI, "tool_input": {"command": "x" * 5_000_000}}

    ran = host("--", f"exec <&-; {DENY}", event=large, program=program)

    assert (ran.code, ran.answer) == (0, DENIED)


def test_an_event_of_the_commands_own_agent_arrives_to_the_byte(host):
    text = (
        b'{ "hook_event_name": "PreToolUse", "n": 1.0, "deep": "\\ud800", "tool_name": "Bash" }\n'
    )

    host("--", "cat > seen", event=text)

    assert host.path("seen").read_bytes() == text


@pytest.mark.parametrize("event", [GEMINI, CLAUDE], ids=["translated", "relayed"])
def test_a_flood_of_output_is_cut_and_reported(host, program, event):
    ran = host("--", FLOOD, event=event, program=program)

    assert ran.code == 0
    assert f"the output after {REPLY_LIMIT} bytes was ignored" in ran.err
    assert len(ran.out) == (REPLY_LIMIT if event is CLAUDE else 2)


def test_a_command_that_must_not_fail_denies_when_its_output_was_cut(host):
    ran = host("--on-failure", "block", "--", FLOOD)

    assert ran.answer["decision"] == "deny"


def test_an_answer_that_is_too_long_to_be_read_denies(host):
    ran = host("--", f"printf '{{'; {FLOOD}")

    assert ran.answer["decision"] == "deny"


def test_an_answer_of_some_megabytes_is_read(host):
    code = "import json; print(json.dumps({'decision': 'block', 'reason': 'x' * 3000000}))"
    ran = host("--", "python3", "-c", code)

    assert ran.answer["decision"] == "deny"
    assert len(ran.answer["reason"]) == 3_000_000


@pytest.mark.parametrize(
    ("agent", "event", "guard", "denied"),
    [
        (
            "claude",
            {"tool_name": "web_fetch", "tool_input": {"prompt": "http://a.b and http://10.0.0.1"}},
            "grep -q 'url.:.http://10' && exit 2 || exit 0",
            True,
        ),
        (
            "claude",
            {"tool_name": "web_fetch", "tool_input": {"prompt": "http://a.b and http://c.d"}},
            "grep -q 'url.:.http://10' && exit 2 || exit 0",
            False,
        ),
        (
            "claude",
            {
                "tool_name": "run_shell_command",
                "tool_input": {"command": "rm *", "dir_path": "/etc"},
            },
            "grep -q '.cwd.:./etc.' && exit 2 || exit 0",
            True,
        ),
    ],
)
def test_a_guard_sees_all_of_a_call(host, agent, event, guard, denied):
    ran = host("--", guard, source=agent, event={**GEMINI, **event})

    assert (ran.answer.get("decision") == "deny") is denied


def test_every_edit_of_a_call_is_seen(host):
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "AKIA"}]
    event = {**CLAUDE, "tool_name": "MultiEdit", "tool_input": {"file_path": "/a", "edits": edits}}
    ran = host(
        "--", "grep -q 'new_string.:.AKIA' && exit 2 || exit 0", source="gemini", event=event
    )

    assert ran.answer["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_a_value_of_a_variable_may_name_another_one(host):
    guard = '[ "$MODE" = strict ] && exit 2; exit 0'
    ran = host("--env", "MODE=${GUARD:-strict}", "--", guard)

    assert ran.answer["decision"] == "deny"


@pytest.mark.parametrize(
    ("option", "value"), [("--event", "BeforeTool"), ("--matcher", "Ba["), ("--shell", "zsh")]
)
def test_a_slip_in_an_option_is_reported(host, option, value):
    ran = host(option, value, "--", "exit 2")

    assert ran.code == 1
    assert value in ran.err


def test_invalid_utf_8_is_relayed_to_the_byte_and_replaced_in_a_translation(host):
    line = "printf 'a\\377b'; printf 'c\\377d' >&2; exit 2"

    relayed = host("--", line, event=CLAUDE)
    translated = host("--", line)

    assert (relayed.code, relayed.out, relayed.err) == (2, b"a\xffb", "c\ufffdd")
    assert translated.answer == {"decision": "deny", "reason": "c\ufffdd"}


@pytest.mark.parametrize(
    ("member", "seen"),
    [
        ('"\\ud800"', "\ud800"),
        ("NaN", None),
        ("-Infinity", None),
        ("1" * 5000, None),
        ("1e400", None),
    ],
    ids=["surrogate", "nan", "infinity", "digits", "exponent"],
)
def test_an_event_that_is_no_plain_json_loses_no_guard(host, member, seen):
    text = json.dumps({**GEMINI, "tool_input": {"x": 0}}).replace('"x": 0', f'"x": {member}')

    ran = host("--", f"cat > seen; {DENY}", event=text.encode())

    assert ran.answer == DENIED
    assert json.loads(host.seen())["tool_input"] == {"x": seen}


@pytest.mark.parametrize("levels", [150, 320, 480, 900, 990, 5000, 100_000])
def test_an_event_that_is_nested_too_deep_loses_no_guard(host, levels):
    deep = "[" * levels + '"]}"' + "]" * levels
    text = json.dumps({**GEMINI, "tool_input": {"command": "rm", "x": 0}})

    ran = host("--", f"cat > seen; {DENY}", event=text.replace('"x": 0', f'"x": {deep}').encode())

    assert ran.answer == DENIED
    assert json.loads(host.seen())["tool_input"]["command"] == "rm"


def test_what_no_environment_holds_loses_no_guard(host):
    event = {**GEMINI, "session_id": "a\0b\ud800", "cwd": "/\0" + "x" * 200_000}

    ran = host("--", DENY, event=event)

    assert ran.answer == DENIED


@pytest.mark.parametrize("text", [b"", b"no", b"[1]", b"\xff\xfe", b'{"a": 1', b"null"])
def test_what_is_no_event_is_no_denial_unless_it_must_be(host, text):
    lenient = host("--", DENY, event=text)
    strict = host("--on-failure", "block", "--", DENY, event=text)

    assert (lenient.code, lenient.out, strict.code, strict.out) == (1, b"", 2, b"")
    assert "standard input holds no JSON object" in lenient.err
    assert strict.err.startswith("blocked: ")


def test_a_byte_order_mark_is_no_part_of_the_event(host):
    ran = host("--", DENY, event=b"\xef\xbb\xbf" + json.dumps(GEMINI).encode())

    assert ran.answer == DENIED


# -- the end of the command


def test_a_grandchild_that_holds_the_pipes_does_not_hold_the_answer(host, program):
    line = "sleep 100 & echo $! > pid; echo no >&2; exit 2"

    ran = host("--", line, program=program)
    still_there = int(host.seen("pid"))
    os.kill(still_there, signal.SIGKILL)  # fails if the shim had ended it: its own agent does not

    assert ran.answer == DENIED


def test_a_grandchild_that_goes_on_writing_finds_the_pipe_closed(host, program):
    ran = host("--", f"yes >&2 & {DENY_JSON}", program=program)

    assert ran.answer == DENIED  # and the host fixture waits until `yes` got its SIGPIPE


def test_the_last_words_of_a_filter_behind_the_command_are_heard(host, program):
    line = f"{{ sleep 0.1; {DENY_JSON}; }} & exit 0"

    assert host("--", line, program=program).answer == DENIED


HANGING = {
    "sleeps": "sleep 100",
    "ignores SIGTERM": "trap '' TERM; while :; do sleep 100; done",
    "has children": "sleep 100 & sleep 100 & wait",
    "has children that ignore SIGTERM": "(trap '' TERM; sleep 100; sleep 100) & sleep 100",
    "has children in another session": "setsid sleep 100 & (setsid sleep 100 &) & sleep 100",
    "closed everything": "exec <&- >&- 2>&-; sleep 100",
    "writes all the time": "yes & yes & yes >&2",
    "writes all the time and ignores SIGTERM": "trap '' TERM; yes & yes >&2; yes",
}


@pytest.mark.parametrize("line", HANGING.values(), ids=HANGING)
def test_a_command_is_ended_at_its_timeout(host, program, line):
    ran = host("--timeout", "0.3", "--", f"{line}; wait", program=program)

    assert (ran.code, ran.out) == (1, b"")
    assert "ran into its timeout of 0.3 s and was ended" in ran.err


def test_a_command_that_must_not_fail_denies_at_its_timeout(host, program):
    ran = host(
        "--timeout", "0.3", "--on-failure", "block", "--", "sleep 100", program=program
    )  # fmt: skip

    assert ran.code == 0
    assert ran.answer == {
        "decision": "deny",
        "reason": "sleep 100 ran into its timeout of 0.3 s and was ended",
    }


def test_a_failure_denies_nothing_where_that_could_go_on_for_ever(host):
    stop = {**COMMON, "hook_event_name": "Stop", "stop_hook_active": False}

    ran = host("--timeout", "0.3", "--on-failure", "block", "--", "sleep 100", event=stop)

    assert (ran.code, ran.out) == (1, b"")
    assert "was ignored" in ran.err


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])
@pytest.mark.parametrize(
    "line",
    [
        "sleep 100",
        "sleep 100 & sleep 100",
        "trap '' TERM; sleep 100; sleep 100",
        "(trap '' TERM; sleep 100) & exec >&- 2>&-; sleep 100",
        "yes & yes >&2; sleep 100",
        "setsid sleep 100 & sleep 100",
        "(setsid sh -c 'sleep 100 &' >&- 2>&- &); sleep 100",
    ],
)
def test_a_signal_ends_the_command_its_children_and_the_shim(host, program, name, line):
    number = getattr(signal, name)
    by_default = functools.partial(signal.signal, number, signal.SIG_DFL)  # `nohup` ignores one
    command = f"echo > ready; {line}"
    with host.start("--", command, program=program, preexec_fn=by_default) as process:
        process.stdin.write(json.dumps(GEMINI).encode())
        process.stdin.close()
        until(host.path("ready").exists, "the command does not start")
        process.send_signal(number)
        out = process.stdout.read()

    assert process.returncode == 128 + number
    assert out == b""


def test_a_signal_while_the_command_is_being_started_leaves_nothing(host):
    program = runner(
        "import os, signal\n"
        "spawn = os.posix_spawn\n"
        "def interrupted(*arguments, **options):\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    pid = spawn(*arguments, **options)\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    return pid\n"
        "os.posix_spawn = interrupted\n"
    )

    ran = host("--", "sleep 100", program=program)

    assert (ran.code, ran.out, ran.err) == (128 + signal.SIGTERM, b"", "")


INTERRUPTED = """
import sys, anyhook.migrate.shim as shim, anyhook._entry_point
def main(words): raise KeyboardInterrupt
shim.main = main; sys.argv.insert(1, "shim"); anyhook._entry_point.main()
"""


def test_an_interrupt_before_the_command_starts_shows_no_traceback(host):
    program = [
        sys.executable, "-P", "-c",
        INTERRUPTED,
    ]  # fmt: skip

    ran = host("--", "sleep 100", program=program)

    assert (ran.code, ran.err) == (130, "")


def test_a_host_that_ignores_hangups_protects_its_hooks(host):
    with host.start(
        "--", "echo > ready; read x < go; exit 2", location="trap '' HUP; exec \"$@\""
    ) as process:
        os.mkfifo(host.path("go"))
        process.stdin.write(json.dumps(GEMINI).encode())
        process.stdin.close()
        until(host.path("ready").exists, "the command does not start")
        process.send_signal(signal.SIGHUP)
        host.path("go").write_text("on\n")
        out = process.stdout.read()

    assert (process.returncode, json.loads(out)["decision"]) == (0, "deny")


@pytest.mark.parametrize("number", ["KILL", "SEGV"])
def test_a_death_by_signal_is_reported(host, number):
    lenient = host("--", f"kill -{number} $$", event=CLAUDE)
    strict = host("--on-failure", "block", "--", f"kill -{number} $$")

    assert lenient.code == 1
    assert f"ended by SIG{number}" in lenient.err
    assert strict.answer["decision"] == "deny"


def test_an_exit_code_arrives_in_a_host_that_ignores_its_children(host):
    ignoring = runner("import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)")

    assert host("--", DENY, program=ignoring).answer == DENIED


def test_a_command_may_tidy_up_when_the_host_ends_it(host, program):
    line = "trap 'echo bye > done; exit 0' TERM; echo > ready; while :; do sleep 0.05; done"
    with host.start("--", line, program=program) as process:
        process.stdin.write(json.dumps(GEMINI).encode())
        process.stdin.close()
        until(host.path("ready").exists, "the command does not start")
        process.terminate()

    assert host.seen("done") == "bye\n"


def test_a_command_that_stops_for_a_while_costs_nothing(host):
    program = runner(
        "import os, select, atexit\n"
        "del os.pidfd_open\n"
        "class Poll:\n"
        "    calls = 0\n"
        "    def __init__(self): self.it = inner()\n"
        "    def __getattr__(self, name): return getattr(self.it, name)\n"
        "    def poll(self, *words): Poll.calls += 1; return self.it.poll(*words)\n"
        "inner, select.poll = select.poll, Poll\n"
        "atexit.register(lambda: open('calls', 'w').write(str(Poll.calls)))\n"
    )

    ran = host("--", f"(sleep 0.3; kill -CONT $$) & kill -STOP $$; {DENY}", program=program)

    assert ran.answer == DENIED
    assert int(host.seen("calls")) < 30


# -- streams that are not there


@pytest.mark.parametrize("closed", ["2>&-", "<&- 2>&-"])
def test_without_standard_error_a_denial_still_arrives(host, closed):
    ran = host(
        "--host", "gemini", "--on-failure", "block", "--", DENY, location=f'exec "$@" {closed}'
    )

    assert ran.err == ""
    assert (ran.code, ran.out) == ((0, ran.out) if "<" not in closed else (2, b""))
    if ran.out:
        assert ran.answer == DENIED


@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-"])
@pytest.mark.parametrize("event", [GEMINI, CLAUDE], ids=["translated", "relayed"])
@pytest.mark.parametrize("line", [DENY, DENY_JSON], ids=["code", "json"])
def test_without_standard_output_a_denial_is_an_exit_code(host, program, closed, event, line):
    ran = host("--", line, event=event, program=program, location=f'exec "$@" {closed}')

    assert ran.code == 2
    assert ran.err.startswith("no\n") or "2>&-" in closed


def test_the_command_has_all_streams_even_if_the_shim_has_none(host, program):
    line = f"echo a; echo b >&2; ls -l /proc/$$/fd > seen; {DENY}"

    ran = host("--", line, program=program, location='exec "$@" >&- 2>&-')

    assert ran.code == 2
    assert host.seen().count("pipe:[") == 3


def test_without_standard_input_there_is_no_event(host):
    ran = host("--", DENY, location='exec "$@" <&-')

    assert ran.code == 1
    assert "holds no JSON" in ran.err


@pytest.mark.parametrize("event", [GEMINI, CLAUDE], ids=["translated", "relayed"])
@pytest.mark.parametrize("line", [DENY, DENY_JSON], ids=["code", "json"])
def test_when_nobody_reads_the_answer_a_denial_is_an_exit_code(host, event, line):
    read, write = os.pipe()
    os.close(read)
    ran = host("--", line, event=event, stdout=write)
    os.close(write)

    assert ran.code == 2
    assert ran.err.startswith("no\n")


@pytest.mark.parametrize("blocking", [True, False])
def test_when_the_pipe_is_full_a_denial_is_an_exit_code(host, blocking):
    read, write = os.pipe()
    os.set_blocking(write, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(write, b"x" * 512)
    os.set_blocking(write, blocking)
    impatient = runner("import anyhook.migrate.shim as shim; shim.WRITE_TIMEOUT = 0.2")

    ran = host("--", DENY, stdout=write, program=impatient)
    os.close(write)
    os.close(read)

    assert ran.code == 2
    assert ran.err.startswith("no\n")


def test_an_answer_that_fills_a_pipe_that_does_not_block_arrives_whole(host):
    reason = "x" * 900_000
    read, write = os.pipe()
    os.set_blocking(write, False)
    with host.start("--", "cat sayings; exit 0", stdout=write) as process:
        os.close(write)
        host.path("sayings").write_text(json.dumps({"decision": "block", "reason": reason}))
        process.stdin.write(json.dumps(GEMINI).encode())
        process.stdin.close()
        with open(read, "rb") as stream:
            answer = json.load(stream)

    assert answer == {"decision": "deny", "reason": reason}


def test_when_nobody_reads_the_errors_a_denial_still_arrives(host):
    read, write = os.pipe()
    os.close(read)
    translated = host("--", DENY, stderr=write)
    relayed = host("--", DENY_JSON, event=CLAUDE, stderr=write)
    os.close(write)

    assert (translated.code, translated.answer) == (0, DENIED)
    assert (relayed.code, relayed.answer["reason"]) == (0, "no")


# -- what is run


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["./directory"], "directory"),
        (["./directory", "argument"], "Permission denied"),
        (["./plain"], "ermission denied"),
        (["./plain", "argument"], "Permission denied"),
        (["./missing"], "not found"),
        (["./missing", "argument"], "No such file or directory"),
        (["missing-everywhere", "argument"], "No such file or directory"),
        (["./broken", "argument"], "No such file or directory"),
    ],
)
def test_what_cannot_be_run_is_reported_and_denies_only_if_it_must(host, words, told):
    host.path("directory").mkdir()
    host.path("plain").write_text("exit 2")
    host.path("broken").write_text("#!/no/such/interpreter\n")
    host.path("broken").chmod(0o755)

    lenient = host("--", *words)
    strict = host("--on-failure", "block", "--", *words)

    assert lenient.code == 1
    assert told in lenient.err or "denied" in lenient.err
    assert lenient.out == b""
    assert strict.answer["decision"] == "deny"


@pytest.mark.parametrize("words", [["./guard"], ["./guard", "argument"]])
@pytest.mark.parametrize("first", ["#!/bin/sh\n", ""], ids=["shebang", "none"])
def test_a_script_runs_whatever_its_first_line(host, words, first):
    host.path("guard").write_text(f"{first}echo no >&2\nexit 2\n")
    host.path("guard").chmod(0o755)

    assert host("--", *words).answer == DENIED


def test_without_a_shell_the_command_cannot_be_asked(host):
    nowhere = {"PATH": str(host.path("empty"))}

    lenient = host("--", DENY, env=nowhere)
    strict = host("--on-failure", "block", "--", DENY, env=nowhere)

    assert (lenient.code, strict.code) == (1, 2)
    assert "there is no shell on the PATH" in lenient.err


def test_the_command_gets_the_default_actions_of_signals(host, program):
    host("--", "grep SigIgn /proc/self/status > seen", program=program)

    ignored = int(host.seen().split()[1], 16)
    assert not ignored & (1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1)


def test_the_environment_is_that_of_the_commands_own_agent(host):
    host(
        "--env", "MINE=a=b", "--", "env -0 > seen; pwd -P > where",
        env={
            "GEMINI_PROJECT_DIR": "/the/project",
            "GEMINI_SESSION_ID": "s1",
            "GEMINI_API_KEY": "kept",
            "OTHER": "kept too",
        },
    )  # fmt: skip
    seen = dict(line.split("=", 1) for line in host.seen().split("\0") if line)

    assert seen["CLAUDE_PROJECT_DIR"] == "/the/project"
    assert "GEMINI_PROJECT_DIR" not in seen
    assert "GEMINI_SESSION_ID" not in seen
    assert (seen["GEMINI_API_KEY"], seen["OTHER"], seen["MINE"]) == ("kept", "kept too", "a=b")
    assert seen["PATH"] == os.environ["PATH"]
    assert Path(host.seen("where").strip()) == host.cwd.resolve()


def test_bytes_of_the_environment_that_are_no_text_are_kept(host):
    name = b"/caf\xe9"
    ran = host("--", 'printf %s "$CLAUDE_PROJECT_DIR" > seen; exit 2', env={
        "GEMINI_PROJECT_DIR": os.fsdecode(name)
    })  # fmt: skip

    assert ran.code == 0
    assert host.path("seen").read_bytes() == name


# -- the background


def test_a_command_in_the_background_outlives_the_shim(host):
    os.mkfifo(host.path("go"))

    ran = host("--background", "--", "cat > seen; read word < go; echo $word > result")
    assert (ran.code, ran.answer, ran.err) == (0, {}, "")
    assert not host.path("result").exists()

    host.path("go").write_text("on\n")
    until(lambda: host.path("result").exists() and host.seen("result"), "it never ends")
    assert host.seen("result") == "on\n"
    seen = json.loads(host.seen())
    assert (seen["hook_event_name"], seen["tool_name"]) == ("PreToolUse", "Bash")


def test_a_command_in_the_background_is_ended_at_its_timeout(host):
    ran = host("--background", "--timeout", "0.5", "--", "trap '' TERM; sleep 100 & sleep 100")

    assert ran.code == 0  # and the host fixture waits until nothing is left


def test_nothing_of_the_project_is_imported(host):
    for name in ("json.py", "anyhook.py", "subprocess.py"):
        host.path(name).write_text("open('hijacked', 'w').close()\n")

    host("--background", "--", "echo > result")
    until(host.path("result").exists, "it never ran")

    assert not host.path("hijacked").exists()


# -- whose event it is


RECOGNIZED = {
    "gemini by its tool": ({"tool_name": "run_shell_command"}, {}, "Bash"),
    "terminai by its tool": ({"tool_name": "run_terminal_command"}, {}, "Bash"),
    "terminai by its path": (
        {"tool_name": "list_files", "transcript_path": "/h/.terminai/x"}, {}, "LS"
    ),
    "gemini by its path": (
        {"tool_name": "list_files", "transcript_path": "/h/.gemini/x"}, {}, "list_files"
    ),
    "terminai by the environment": (
        {"tool_name": "read_file"}, {"TERMINAI_PROJECT_DIR": "/"}, "Read"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("members", "env", "tool"), RECOGNIZED.values(), ids=RECOGNIZED)
def test_the_host_is_recognized(host, members, env, tool):
    host("--", "cat > seen", event={**GEMINI, **members}, env=env)

    assert json.loads(host.seen())["tool_name"] == tool


@pytest.mark.parametrize(("name", "tool"), [("gemini", "list_files"), ("terminai", "LS")])
def test_the_host_that_is_named_counts(host, name, tool):
    event = {**GEMINI, "tool_name": "list_files", "transcript_path": "/h/.gemini/x"}
    other = {"transcript_path": f"/h/.{'gemini' if name == 'terminai' else 'terminai'}/x"}

    host("--host", name, "--", "cat > seen", event={**event, **other})

    assert json.loads(host.seen())["tool_name"] == tool


def test_a_host_of_another_kind_is_answered_in_its_own_form(host):
    line = """echo '{"decision": "deny", "reason": "no"}'"""

    ran = host("--", line, event=CLAUDE, source="gemini")

    said = ran.answer["hookSpecificOutput"]
    assert (said["permissionDecision"], said["permissionDecisionReason"]) == ("deny", "no")


def test_an_event_of_no_agent_is_reported(host):
    ran = host("--", DENY, event={"hook_event_name": "Lunch"})

    assert ran.code == 1
    assert "add --host NAME" in ran.err


# -- its command line


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--nonsense", "--", "true"], "has no option '--nonsense'"),
        (["--timeout", "soon", "--", "true"], "takes seconds"),
        (["--timeout", "nan", "--", "true"], "takes seconds"),
        (["--on-failure", "blok", "--", "true"], "continue or block"),
        (["--env", "=x", "--", "true"], "NAME=VALUE"),
        (["--host"], "needs a value"),
        (["--host", "nobody", "--", "true"], "nobody"),
        (["--"], "there is no command"),
    ],
)
def test_a_wrong_command_line_is_reported_and_denies_only_if_it_must(host, words, told):
    lenient = host(*words)
    strict = host("--on-failure", "block", *words)

    assert (lenient.code, lenient.out) == (1, b"")
    assert told in lenient.err
    assert strict.code == 2 or "blok" in words
    assert host("--on-failure=block", *words).code == strict.code


def test_what_stands_behind_the_dashes_is_no_option(host):
    ran = host("--nonsense", "--", "--on-failure", "block")

    assert ran.code == 1


@pytest.mark.parametrize(
    "words",
    [
        ["--as", "claude", "--timeout", "1234567.25", "--", "x"],
        ["--as", "claude", "--matcher=--", "--if=--", "--", "x", "--", "y"],
        ["--as", "claude", "--env", "A=--", "--env", "B==", "--background", "--", "--"],
        ["--as=claude", "--on-failure=block", "--event=Stop", "--shell=bash", "--", " "],
    ],
)
def test_the_command_line_is_written_as_it_is_read(words):
    options = parse_shim_options(words)

    assert parse_shim_options(write_options(options)) == options


# -- what it costs


HEAVY = set(
    "typing dataclasses inspect ast subprocess pathlib asyncio anyio typer rich httpx regress "
    "tempfile contextlib importlib.machinery threading logging argparse socket".split()
)


@pytest.mark.parametrize(
    ("words", "event", "code"),
    [
        (["--as", "claude", "--", DENY], GEMINI, 0),
        (["--as", "claude", "--", DENY], CLAUDE, 2),
        (["--as", "gemini", "--", DENY], CLAUDE, 0),
        (["--as", "claude", "--event", "Stop", "--", DENY], GEMINI, 0),
        (["--as", "claude", "--timeout", "5", "--on-failure", "block", "--", "exit 1"], GEMINI, 0),
        (["--as", "claude", "--host", "gemini", "--", "exit 1"], GEMINI, 1),
    ],
)
def test_the_shim_loads_little(words, event, code):
    def loaded(program, *arguments):
        done = subprocess.run(
            [sys.executable, "-P", "-X", "importtime", "-c", program, *arguments],
            input=json.dumps(event),
            capture_output=True,
            text=True,
            check=False,
        )
        lines = (line for line in done.stderr.splitlines() if line.startswith("import time:"))
        return {line.rpartition("|")[2].strip() for line in lines}, done.returncode

    empty, _ = loaded("import json, __future__")
    found, ended = loaded("from anyhook._entry_point import main; main()", "shim", *words)

    assert ended == code
    assert "anyhook.migrate.shim" in found
    assert not (found - empty) & HEAVY
    others = {name for name in found - empty if not name.startswith("anyhook")}
    assert others <= {"_contextvars", "gc", "select", "signal", "warnings"}


# -- inside the engine


def shimmed(line, *options):
    words = [*SHIM, "--as", "claude", *options, "--", line]
    return " ".join(shlex.quote(word) for word in words)


def settings(line, **members):
    handler = {"type": "command", "command": line, **members}
    return {"hooks": {"BeforeTool": [{"matcher": "*", "hooks": [handler]}]}}


def says(**members):
    inner = {"hookEventName": "PreToolUse", **members}
    return f"printf %s {shlex.quote(json.dumps({'hookSpecificOutput': inner}))}"


RM = BeforeTool(tool_name="run_shell_command", tool_input={"command": "rm x"})


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


@pytest.mark.anyio
async def test_a_shimmed_command_decides_inside_the_engine(world):
    world.settings("project", settings(shimmed(f"grep -q 'Bash.*rm x' && {{ {DENY}; }}")))
    async with world.load() as engine:
        denied = await engine.dispatch(RM)
        passed = await engine.dispatch(RM.replace(tool_input={"command": "ls"}))

    assert (denied.denied, denied.reason) == (True, "no")
    assert not passed.denied


@pytest.mark.anyio
async def test_a_shimmed_command_asks_inside_the_engine(world):
    line = says(permissionDecision="ask", permissionDecisionReason="sure?")
    world.settings("project", settings(shimmed(line)))
    async with world.load() as engine:
        decision = await engine.dispatch(RM)

    assert str(decision.outcome) == "ask"


@pytest.mark.anyio
async def test_a_shimmed_command_rewrites_inside_the_engine(world):
    line = says(permissionDecision="allow", updatedInput={"command": "ls"})
    world.settings("project", settings(shimmed(line)))
    async with world.load() as engine:
        decision = await engine.dispatch(RM)

    assert decision.tool_input == {"command": "ls"}


@pytest.mark.anyio
@pytest.mark.parametrize("line", ["sleep 100 & sleep 100", "trap '' TERM; sleep 100; sleep 100"])
async def test_the_timeout_of_the_engine_ends_shim_and_command(world, line):
    world.settings("project", settings(shimmed(f"echo > ready; {line}"), timeout=1500))
    with none_left(uuid.uuid4().hex) as env, anyio.fail_after(20):
        world.environ[MARK] = env[MARK]
        async with world.load() as engine:
            decision = await engine.dispatch(RM)

    assert (world.project / "ready").exists()
    assert not decision.denied
    assert "ran into its timeout" in decision.explain()


# -- hosts that take a failure for a denial, and tools that take a patch


COPILOT = {
    "sessionId": "s1",
    "timestamp": 1795317009536,
    "cwd": "/",
    "toolName": "bash",
    "toolArgs": {"command": "rm x"},
}
PATCHED = {
    **COMMON,
    "turn_id": "t1",
    "hook_event_name": "PreToolUse",
    "tool_name": "apply_patch",
    "tool_use_id": "c1",
    "tool_input": {
        "command": "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y\n"
        "*** Add File: .env\n+A=1\n*** End Patch\n"
    },
}


@pytest.mark.parametrize("words", [["--", "exit 1"], ["--timeout", "0.2", "--", "sleep 20"]])
def test_a_command_that_only_failed_does_not_deny_where_the_host_denies_failures(host, words):
    ran = host("--host", "copilot", *words, event=COPILOT)

    assert ran.code == 0
    assert ran.out in (b"", b"{}")


def test_a_command_that_must_not_fail_still_denies_there(host):
    ran = host("--host", "copilot", "--on-failure", "block", "--", "exit 1", event=COPILOT)

    assert (ran.code, ran.answer["permissionDecision"]) == (0, "deny")


def test_a_command_of_the_agent_that_denies_failures_denies_elsewhere(host):
    ran = host("--", "exit 1", source="copilot", event=CLAUDE)

    assert ran.answer["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_a_guard_sees_every_file_of_a_patch(host):
    guard = "jq -r '[.tool_name, .tool_input.file_path] | @tsv' >> seen; "
    guard += "tail -1 seen | grep -q env && { echo private >&2; exit 2; } || exit 0"

    ran = host("--", guard, event=PATCHED)

    assert host.seen() == "Edit\t/src/a.py\nWrite\t/.env\n"
    answer = ran.answer["hookSpecificOutput"]
    assert (answer["permissionDecision"], answer["permissionDecisionReason"]) == ("deny", "private")


def test_a_matcher_of_one_tool_sees_only_its_files_of_a_patch(host):
    ran = host("--matcher", "^Write$", "--", "jq -r .tool_input.file_path >> seen", event=PATCHED)

    assert (ran.code, host.seen()) == (0, "/.env\n")


def test_a_denial_that_does_nothing_in_its_own_agent_does_nothing_elsewhere(host):
    event = {**COMMON, "hook_event_name": "SessionStart", "source": "startup"}

    ran = host("--host", "claude", "--", DENY, source="gemini", event=event)

    assert (ran.code, ran.out, ran.err) == (0, b"{}", "no\n")

"""`anyhook worker`, `anyhook worker doctor` and `anyhook worker bench`, around real workers."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
from contextlib import suppress
from pathlib import Path

import pytest

import anyhook
from anyhook.manage.recording import RECORDER_FILE
from anyhook.testing import make_payload
from anyhook.worker import client
from anyhook.worker.control import list_servers, stop_server
from tests.waiting import until
from tests.warm import CLIENT

pytestmark = pytest.mark.slow

PACKAGE = Path(anyhook.__file__).parent
SOURCES = PACKAGE.parent
GUARD = """
    from anyhook.authoring import Hooks, context, deny

    hooks = Hooks()

    @hooks.before_tool("shell")
    def guard(event):
        if "AKIA" in event.text:
            return deny("not the keys")

    @hooks.session_start
    def introduce(event):
        return context("a secret greeting")

    hooks.example(tool="shell", input={"command": "echo AKIA"}, expect="deny")

    if __name__ == "__main__":
        hooks.run()
"""
NEVER_WARM = GUARD.replace("Hooks()", "Hooks(); HELD = open('/dev/null')")
NOT_WARM = "keeps a file open while it is loaded"


@pytest.fixture
def runtime(tmp_path_factory, monkeypatch):
    """A runtime directory whose workers are gone after the test."""
    directory = tmp_path_factory.mktemp("r")  # sockets have short paths
    directory.chmod(0o700)
    monkeypatch.setenv("ANYHOOK_RUNTIME_DIR", str(directory))
    monkeypatch.setenv("ANYHOOK_WORKER", "on")
    yield directory
    directory.chmod(0o700)
    for found in list_servers(str(directory)):
        if found.status is not None:
            stop_server(found.base)
    for pid in processes(directory):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    until(lambda: not processes(directory), "workers are left")


def processes(directory):
    """List the workers of a directory, and their copies."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with suppress(OSError):
                line = (entry / "cmdline").read_bytes()
                if os.fsencode(directory) in line and client.SERVER_CODE.encode() in line:
                    found.append(int(entry.name))
    return found


@pytest.fixture
def hook_file(world):
    def write(text=GUARD, name="guard.py"):
        return world.write(world.project / name, textwrap.dedent(text))

    return write


def fire(file, python=sys.executable, event="before_tool", **options):
    """Run a hook file through its worker."""
    fields = {"tool": "shell", "input": {"command": "ls"}} if event == "before_tool" else {}
    return subprocess.Popen(
        [*CLIENT[:-1], python, str(file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    ), json.dumps(make_payload(event, agent="claude", **fields)).encode()


def answered(file, **options):
    process, payload = fire(file, **options)
    out, err = process.communicate(payload, timeout=30)
    assert process.returncode == 0, err
    return out


def serve(runtime, file, **options):
    """Fire events until the server of a file has answered one; return its status at rest."""

    def status():
        return next((one for one in statuses(runtime) if one["hook"] == str(file)), None)

    def has_answered():
        answered(file, **options)
        return (status() or {"events": {"warm": 0}})["events"]["warm"]

    until(has_answered, "no server started")
    return until(lambda: (now := status()) and not now["running"] and now, "it stays busy")


def statuses(runtime):
    return [server.status for server in list_servers(str(runtime)) if server.status]


def run_cold(runtime, file):
    """Fire events until the server of a file has refused one."""

    def is_refused():
        answered(file)
        return any(one["cold"] for one in statuses(runtime))

    until(is_refused, "no server refused it")


# -- worker status


def test_without_a_worker_the_status_says_so(world, runtime, run):
    code, out, _ = run("worker", "status")

    assert code == 0
    assert f"No worker runs (looked in {runtime})." in out.replace("\n", "")


def test_without_a_runtime_directory_the_status_says_so(world, runtime, run):
    runtime.rmdir()
    try:
        assert run("worker", "status")[0] == 0
        assert json.loads(run("worker", "status", "--json")[1])["workers"] == []
    finally:
        runtime.mkdir()


def test_the_status_shows_what_a_worker_has_loaded(world, runtime, run, hook_file):
    status = serve(runtime, hook_file())

    # A new child answers a sample event first, and is busy as long as it does.
    out = until(lambda: "ready" in (text := run("worker", "status")[1]) and text, "it stays busy")

    for words in (str(status["pid"]), "guard.py", "MiB"):
        assert words in out


def test_the_status_for_programs_is_what_the_worker_reports(world, runtime, run, hook_file):
    file = hook_file()
    server = serve(runtime, file)

    _, out, _ = run("worker", "status", "--json")

    (found,) = json.loads(out)["workers"]
    assert found["address"] == server["address"]
    assert found["status"]["pid"] == server["pid"]
    assert found["status"]["hook"] == str(file)
    assert (found["stale"], found["problem"]) == (False, None)


def test_the_status_says_why_hooks_ran_cold(world, runtime, run, hook_file):
    file = hook_file(NEVER_WARM)
    run_cold(runtime, file)
    answered(file)

    _, out, _ = run("worker", "status")

    assert f"guard.py: {NOT_WARM} (" in " ".join(out.split())
    assert "times), last at " in " ".join(out.split())


def test_a_socket_without_a_worker_is_stale(world, runtime, run):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(runtime / "0123456789abcdef.sock"))
    listener.close()

    code, out, _ = run("worker", "status")

    assert code == 0
    assert out.startswith("stale  ")
    assert "0123456789abcdef: no process listens there" in out
    assert "nothing to stop" in run("worker", "stop")[1]


def test_a_worker_that_talks_otherwise_is_not_stale(world, runtime, run):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(runtime / "0123456789abcdef.sock"))
        listener.listen()
        listener.setblocking(False)  # it takes the question and never answers

        _, out, _ = run("worker", "status")

    assert out.startswith("silent  ")


def test_nobody_is_asked_in_a_directory_that_is_open_to_others(world, runtime, run):
    runtime.chmod(0o755)

    code, _, err = run("worker", "status")

    assert code == 64
    assert "it must have mode 0700" in err
    assert "ANYHOOK_RUNTIME_DIR" in err


# -- worker stop


def test_without_a_worker_there_is_nothing_to_stop(world, runtime, run):
    code, out, _ = run("worker", "stop")

    assert code == 0
    assert "No worker runs; there is nothing to stop." in out


def test_a_worker_that_is_stopped_is_gone(world, runtime, run, hook_file):
    server = serve(runtime, hook_file())

    code, out, _ = run("worker", "stop")

    assert code == 0
    assert f"Worker {server['pid']} has ended." in out
    assert list_servers(str(runtime)) == []
    until(lambda: not processes(runtime), "it is still there")


def test_a_worker_of_another_interpreter_is_stopped_only_with_all(world, runtime, run, hook_file):
    other = world.root / "other"
    (other / "bin").mkdir(parents=True)
    (other / "lib").symlink_to(Path(sys.prefix, "lib"))
    shutil.copy(Path(sys.prefix, "pyvenv.cfg"), other)
    (other / "bin" / "python").symlink_to(Path(sys.executable).resolve())
    server = serve(runtime, hook_file(), python=str(other / "bin" / "python"))

    _, out, _ = run("worker", "stop")
    assert "anyhook worker stop --all" in out
    assert [one.status["pid"] for one in list_servers(str(runtime))] == [server["pid"]]

    _, out, _ = run("worker", "stop", "--all", "--json")
    (ended,) = json.loads(out)["ended"]
    assert (ended["pid"], ended["how"]) == (server["pid"], "stopped")
    assert list_servers(str(runtime)) == []


def test_a_hook_that_does_not_end_is_killed_with_its_worker(world, runtime, hook_file):
    gate, begun = world.root / "gate", world.root / "begun"
    os.mkfifo(gate)
    os.mkfifo(begun)
    text = textwrap.dedent(GUARD).replace(
        'if "AKIA" in event.text:',
        f"open({str(begun)!r}, 'w').close(); open({str(gate)!r}).read()\n    if False:",
    )
    file = hook_file("\n" + text)
    server = serve(runtime, file, event="session_start")

    process, payload = fire(file)
    process.stdin.write(payload)
    process.stdin.close()
    begun.open().close()  # the hook runs
    until(lambda: statuses(runtime)[0]["running"])
    ended = stop_server(server["address"], timeout=0.0)

    assert (ended.how, ended.busy) == ("killed", (str(file),))
    until(lambda: not processes(runtime), "the hook is still there")
    begun.open().close()  # the client runs the hook itself
    gate.open("w").close()
    process.stdin = None
    process.communicate(timeout=30)
    assert process.returncode == 0


def test_a_worker_that_hangs_is_killed(world, runtime, run, hook_file):
    server = serve(runtime, hook_file())
    os.kill(server["pid"], signal.SIGSTOP)

    ended = stop_server(server["address"], timeout=0.0)

    assert (ended.pid, ended.how) == (server["pid"], "killed")
    assert "no process listens there" in run("worker", "status")[1]


def test_a_worker_that_hangs_is_asked_to_end_first(world, runtime, hook_file):
    server = serve(runtime, hook_file())
    os.kill(server["pid"], signal.SIGSTOP)

    ended = stop_server(server["address"], on_wait=lambda _: os.kill(server["pid"], signal.SIGCONT))

    assert (ended.pid, ended.how) == (server["pid"], "stopped")


def test_another_program_in_the_directory_is_left_alone(world, runtime, run):
    with socket.socket(socket.AF_UNIX) as theirs, socket.socket(socket.AF_UNIX) as like_ours:
        theirs.bind(str(runtime / "music.sock"))
        like_ours.bind(str(runtime / "0123456789abcdef.sock"))
        like_ours.listen()

        ended = json.loads(run("worker", "stop", "--all", "--json")[1])["ended"]

        assert [(one["pid"], one["how"]) for one in ended] == [(None, "silent")]
        assert "music" not in run("worker", "status")[1]


# -- doctor


def doctor(run, *arguments):
    code, out, _ = run("worker", "doctor", "--json", *arguments)
    diagnosis = json.loads(out)
    assert code == (0 if diagnosis["ok"] else 1)
    return diagnosis, {check["name"]: check for check in diagnosis["checks"]}


def test_the_doctor_finds_nothing_wrong(world, runtime, run):
    code, out, _ = run("worker", "doctor")

    assert code == 0
    assert "✗" not in out
    for words in ("✓ anyhook: ", "✓ runtime directory: ", "✓ worker: none runs"):
        assert words in out


def test_the_doctor_describes_the_worker(world, runtime, run, hook_file):
    status = serve(runtime, hook_file())

    diagnosis, checks = doctor(run)

    assert checks["worker"]["state"] == "fine"
    assert checks["worker"]["says"].startswith(f"{status['pid']}, ")
    assert diagnosis["workers"][0]["status"]["pid"] == status["pid"]


def test_the_doctor_says_why_hooks_ran_cold(world, runtime, run, hook_file):
    run_cold(runtime, hook_file(NEVER_WARM))

    _, checks = doctor(run)

    assert checks["ran cold"]["state"] == "note"
    assert NOT_WARM in checks["ran cold"]["says"]


def test_a_directory_that_is_open_to_others_is_wrong(world, runtime, run):
    runtime.chmod(0o750)

    code, out, _ = run("worker", "doctor")

    assert code == 1
    assert "✗ runtime directory: " in out
    assert "mode 0750" in out
    assert f"→ chmod 700 {runtime}" in out


def test_a_directory_with_too_long_a_path_is_wrong(world, runtime, run, monkeypatch):
    monkeypatch.setenv("ANYHOOK_RUNTIME_DIR", str(runtime / ("x" * 100)))

    diagnosis, _ = doctor(run)

    problem = next(check for check in diagnosis["checks"] if check["state"] == "wrong")
    assert "the system takes 107" in problem["says"]
    assert "ANYHOOK_RUNTIME_DIR" in problem["do"]


def test_a_directory_that_cannot_be_made_is_wrong(world, runtime, run, monkeypatch):
    monkeypatch.setenv("ANYHOOK_RUNTIME_DIR", str(runtime / "no" / "such"))

    _, checks = doctor(run)

    assert checks["runtime directory"]["state"] == "wrong"


@pytest.mark.parametrize(("value", "words"), [("off", "every hook runs cold"), ("0", "'0' means")])
def test_the_switch_is_reported(world, runtime, run, monkeypatch, value, words):
    monkeypatch.setenv("ANYHOOK_WORKER", value)

    diagnosis, checks = doctor(run)

    assert diagnosis["ok"]
    assert words in checks["ANYHOOK_WORKER"]["says"]


def test_what_a_bug_left_is_reported(world, runtime, run):
    (runtime / "0123456789abcdef.log").write_text("Traceback\nKeyError: 'x'\n")

    _, checks = doctor(run)

    assert "KeyError: 'x'" in checks["bug"]["says"]
    assert "0123456789abcdef.log" in checks["bug"]["says"]


def test_every_hook_file_of_the_settings_is_reported(world, runtime, run, hook_file):
    hook_file()
    file = '"${GEMINI_PROJECT_DIR}/guard.py"'
    written = {
        "SessionStart": f"{shlex.join(CLIENT)} {file}",
        "BeforeTool": f"{sys.executable} {file}",
        "AfterTool": "echo of no interest",
    }
    hooks = {
        event: [{"hooks": [{"type": "command", "command": line}]}]
        for event, line in written.items()
    }
    world.settings("project", {"hooks": hooks})

    diagnosis, _ = doctor(run)

    about = [check for check in diagnosis["checks"] if "guard.py" in check["name"]]
    assert sorted(check["state"] for check in about) == ["fine", "note"]
    (cold,) = (check for check in about if check["state"] == "note")
    assert cold["says"] == "starts an interpreter on every event"
    assert cold["do"].endswith("guard.py --agent gemini")
    (warm,) = (check for check in about if check["state"] == "fine")
    assert warm["says"] == "through the worker"


@pytest.mark.parametrize("line", ["/no/anyhook run {file}", "anyhook run --python /no/py {file}"])
def test_a_hook_whose_programs_are_gone_is_wrong(world, runtime, run, hook_file, monkeypatch, line):
    programs = world.write(world.root / "bin" / "anyhook", "#!/bin/sh\n").parent
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    line = line.format(python=sys.executable, file=hook_file())
    hooks = {"BeforeTool": [{"hooks": [{"type": "command", "command": line}]}]}
    world.settings("project", {"hooks": hooks})

    diagnosis, _ = doctor(run)

    assert diagnosis["checks"][-1]["state"] == "wrong"
    assert "there is no program /no/" in diagnosis["checks"][-1]["says"]


def test_a_hook_of_the_user_is_installed_for_the_user(world, runtime, run, hook_file):
    file = hook_file()
    line = f"{sys.executable} {file}"
    hooks = {"BeforeTool": [{"hooks": [{"type": "command", "command": line}]}]}
    world.settings("user", {"hooks": hooks})

    diagnosis, _ = doctor(run)

    assert diagnosis["checks"][-1]["do"].endswith("--agent gemini --scope user")


def examined(root, prepare):
    """Let another installation's doctor look, whose files were changed before."""
    shutil.copytree(PACKAGE, root / "anyhook", ignore=shutil.ignore_patterns("__pycache__"))
    prepare(root / "anyhook" / "worker" / "anyhook")
    return subprocess.run(
        [sys.executable, "-m", "anyhook", "worker", "doctor"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(root)},
        check=False,
    )


def test_without_a_compiler_the_doctor_says_how_to_get_the_native_program(world, runtime):
    done = examined(world.root, lambda program: program.unlink(missing_ok=True))

    assert done.returncode == 0, done.stderr
    assert "! native program: there was no C compiler" in done.stdout
    assert "install gcc or clang" in done.stdout


@pytest.mark.parametrize("content", [b"\x7fELF of no machine", b"#!/bin/sh\nexit 1\n"])
def test_a_native_program_of_another_machine_is_wrong(world, runtime, content):
    def prepare(program):
        program.unlink(missing_ok=True)
        program.write_bytes(content)
        program.chmod(0o755)

    done = examined(world.root, prepare)

    assert done.returncode == 1, done.stderr
    assert "✗ native program: " in done.stdout
    assert "does not run here" in done.stdout


# -- bench


def bench(run, *arguments):
    code, out, _ = run("worker", "bench", "--json", "-n", "3", *arguments)
    return code, json.loads(out)


def project_hooks(world, *lines, event="BeforeTool"):
    handlers = [
        {"type": "command", "command": line, "name": f"h{i}"} for i, line in enumerate(lines)
    ]
    world.settings("project", {"hooks": {event: [{"hooks": handlers}]}})


def test_the_hooks_of_a_project_are_measured_as_they_are_written(world, runtime, run, hook_file):
    file = hook_file()
    record = world.root / "record"
    project_hooks(world, f"{shlex.join(CLIENT)} {file}", f"cat >> {record}; exit 2")

    code, report = bench(run, "--trust-once")

    assert code == 0
    assert [(hook["name"], hook["event"]) for hook in report["hooks"]] == [
        ("h0", "BeforeTool"),
        ("h1", "BeforeTool"),
    ]
    for hook in report["hooks"]:
        assert 0 < hook["p50_ms"] <= hook["p95_ms"]
    assert report["tool_call_ms"]["gemini"] > 0
    assert report["problems"] == report["not_measured"] == []
    payloads = record.read_text().replace("}{", "}\n{").splitlines()
    assert [json.loads(line)["hook_event_name"] for line in payloads] == ["BeforeTool"] * 8
    (status,) = statuses(runtime)
    assert status["hook"] == str(file)


def test_a_hook_gets_the_arguments_of_its_tool(world, runtime, run):
    line = 'python3 -c \'import json, sys; json.load(sys.stdin)["tool_input"]["file_path"]\''
    definition = {"matcher": "write_file", "hooks": [{"type": "command", "command": line}]}
    world.settings("project", {"hooks": {"BeforeTool": [definition]}})

    code, report = bench(run, "--trust-once")

    assert (code, report["problems"]) == (0, [])


def test_the_agents_are_those_of_the_list(world, runtime, run):
    # Copilot CLI and Cursor would read this file, too.
    path = world.project / ".claude" / "settings.json"
    path.parent.mkdir()
    hooks = [{"type": "command", "command": "exit 0"}]
    path.write_text(json.dumps({"hooks": {"PreToolUse": [{"hooks": hooks}]}}))

    code, report = bench(run, "--trust-once")

    assert code == 0
    assert [hook["agent"] for hook in report["hooks"]] == ["claude"]


def test_people_see_figures_and_a_sentence_but_no_answers(world, runtime, run, hook_file):
    project_hooks(world, "echo a secret greeting >&2; exit 2")

    code, out, _ = run("worker", "bench", "-n", "1", "--trust-once")

    assert code == 0
    for words in ("BeforeTool", "h0", "p95", "a tool call waits"):
        assert words in out
    assert "a secret greeting" not in out


def test_a_hook_that_fails_is_reported(world, runtime, run):
    project_hooks(world, "exit 1")

    code, report = bench(run, "--trust-once")

    assert code == 1
    assert report["problems"] == ["BeforeTool h0: exit 1 in 3 calls"]


def test_hooks_that_are_off_or_not_trusted_do_not_run(world, runtime, run):
    ran = world.root / "ran"
    project_hooks(world, f"touch {ran}", f"touch {ran}")
    settings = json.loads(world.files["project"].read_text())
    settings["hooksConfig"] = {"disabled": ["h0"]}
    world.settings("project", settings)

    code, _, err = run("worker", "bench", "-n", "1")

    assert code == 64
    assert "h0 is switched off by" in err
    assert "h1 is not trusted: anyhook trust --agent gemini" in err
    assert not ran.exists()


def test_the_recorder_in_the_background_is_not_listed(world, runtime, run):
    recorder = {"type": "command", "command": f"python3 {RECORDER_FILE}", "async": True}
    other = {"type": "command", "command": "exit 0", "async": True}
    hook = {"type": "command", "command": "exit 0"}
    path = world.project / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"hooks": {"PreToolUse": [{"hooks": [recorder, hook, other]}]}}))

    _, report = bench(run, "--trust-once")

    assert len(report["hooks"]) == 1
    assert report["not_measured"] == ["Claude Code, PreToolUse: exit runs in the background"]

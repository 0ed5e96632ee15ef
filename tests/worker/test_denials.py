"""A denial survives what its hook does to its own process, in every agent, warm and cold."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import zlib
from pathlib import Path
from types import SimpleNamespace

import pytest

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.agents.output import ProcessExit, decode_exit
from anyhook.agents.spec import Denial
from anyhook.history.record_switch import RecordingSwitch, remove_switch, write_switch
from anyhook.model.answers import Outcome
from anyhook.model.definitions import HandlerSpec
from anyhook.model.diagnostics import Place
from anyhook.model.layers import Layer
from anyhook.testing import make_payload
from tests.tables import fast_for
from tests.warm import CLIENT, Warm

AGENTS = (*CODING_AGENTS, "generic")
FULL = pytest.mark.slow
IMPORTS = """
import atexit, asyncio, builtins, ctypes, itertools, json, os, resource, signal, socket
import sys, threading, time

def limit(name, value):
    number = getattr(resource, name)
    resource.setrlimit(number, (value, value))

def default(name):
    signal.signal(getattr(signal, name), signal.SIG_DFL)
"""
HARMS = {
    "none": "pass",
    "closes descriptors": "os.closerange(3, 64)",
    "closes all descriptors": "os.closerange(0, 1024)",
    "closes standard streams": "[os.close(fd) for fd in range(3)]",
    "replaces standard output": "os.dup2(os.open(os.devnull, os.O_RDWR), 1)",
    "replaces descriptors": "os.closerange(3, 64); [socket.socket() for _ in range(30)]",
    "replaces descriptors by files": (
        "os.closerange(3, 64); [os.open('taken', os.O_CREAT | os.O_RDWR) for _ in range(30)]"
    ),
    "closes streams": "sys.stdout.close(); sys.stderr.close(); sys.stdin.close()",
    "deletes streams": "del sys.stdout, sys.stderr",
    "may open no file": "limit('RLIMIT_NOFILE', 3)",
    "may write no file": "default('SIGXFSZ'); limit('RLIMIT_FSIZE', 0)",
    "may take no memory": "limit('RLIMIT_AS', 1 << 20)",
    "blocks signals": "signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())",
    "ignores signals": (
        "[signal.signal(n, signal.SIG_IGN) for n in (signal.SIGALRM, signal.SIGTERM)]"
    ),
    "takes the default of SIGPIPE": "default('SIGPIPE')",
    "sets an alarm": "default('SIGALRM'); signal.setitimer(signal.ITIMER_REAL, 0.5)",
    "replaces json": "json.dumps = json.loads = json.JSONEncoder = None",
    "replaces os": "os.write = os._exit = os.fstat = os.getpid = os.dup = os.close = None",
    "replaces sys.exit": "sys.exit = None",
    "replaces builtins": "builtins.open = builtins.print = builtins.__import__ = None",
    "clears modules": "sys.modules.clear()",
    "forks": "os.fork()",
    "starts a process": "os.system('true')",
    "registers an exit": "atexit.register(os._exit, 0)",
    "registers a failing exit": "atexit.register(os._exit, 9)",
    "registers a crash": "atexit.register(lambda: os.kill(os.getpid(), signal.SIGSEGV))",
    "starts a thread": "threading.Thread(target=time.sleep, args=(600,)).start()",
    "is no argument": "sys.argv = sys.orig_argv = None",
}
"""What a hook does, and the statements."""
QUICK = (
    "none",
    "closes descriptors",
    "closes all descriptors",
    "replaces descriptors",
    "may open no file",
    "blocks signals",
    "replaces json",
    "replaces os",
    "clears modules",
    "registers a failing exit",
    "starts a thread",
)
"""The harms that are tried in each run of the tests."""
PLACES = ("before", "exit", "thread")
"""Where: in the function before it returns, in an exit function, in a thread that goes on."""
GUARD = (
    IMPORTS
    + "\n".join(f"def harm_{number}():\n    {harm}\n" for number, harm in enumerate(HARMS.values()))
    + """
@hooks.before_tool
def guard(event):
    place, number = os.environ["HARM"].split()
    harm = globals()[f"harm_{number}"]
    if place == "before":
        harm()
    elif place == "exit":
        atexit.register(harm)
    else:
        threading.Thread(target=harm).start()
    return deny("not here")
"""
)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    world = Warm(tmp_path_factory.mktemp("hooks"))
    yield world
    world.close()


@pytest.fixture(scope="module")
def guard(world):
    return world.hook(GUARD, "guard.py")


@pytest.fixture
def recording(world):
    """Record what hooks answer."""
    directory = Path(world.env["ANYHOOK_DATA_DIR"]) / "history"
    directory.mkdir(parents=True, exist_ok=True)
    write_switch(RecordingSwitch(), str(directory))
    yield
    remove_switch(str(directory))


@pytest.mark.parametrize("way", ["cold", "warm"])
@pytest.mark.parametrize("harm", ["none", "may write no file", "may open no file"])
def test_a_denial_survives_what_keeps_it_from_being_recorded(world, guard, recording, way, harm):
    env = {"HARM": f"before {list(HARMS).index(harm)}"}
    if way == "warm":
        world.wake(guard, "--agent", "gemini", env={"HARM": "before 0"})

    run = world.cold if way == "cold" else world.run
    end = run(guard, "--agent", "gemini", payload=event_for("gemini"), env=env)

    assert end[0] in (0, 2)
    assert understood("gemini", end).outcome is Outcome.DENY


def event_for(agent):
    return make_payload("before_tool", agent=agent, tool="shell", input={"command": "ls"})


def understood(agent, end, canonical="before_tool"):
    """Return the outcome and the reason that an agent reads from the end of a command."""
    code, out, err = end
    spec = get_agent(agent)
    event = spec.by_canonical[canonical]
    handler = HandlerSpec("command", Layer.RUNTIME, Place("<test>"), name="hook")
    exit_code, signal_name = (code, None) if code >= 0 else (None, str(-code))
    output = decode_exit(
        spec, spec.documented, event, handler, ProcessExit(exit_code, signal_name, out, err)
    )
    return SimpleNamespace(outcome=output.answer.outcome, reason=output.answer.reason or "")


def trials():
    for harm in HARMS:
        for place in PLACES:
            for agent in AGENTS:
                is_quick = agent == "gemini" and harm in QUICK and place != "thread"
                yield pytest.param(agent, place, harm, marks=() if is_quick else (FULL,))


@pytest.mark.slow
@pytest.mark.parametrize("way", ["cold", "warm"])
@pytest.mark.parametrize(("agent", "place", "harm"), [*trials()])
def test_a_denial_survives(world, guard, way, agent, place, harm):
    harm_number = list(HARMS).index(harm)
    env = {"HARM": f"{place} {harm_number}"}
    words = ("--agent", agent)
    if way == "warm":
        world.wake(guard, *words, env={"HARM": "before 0"})

    end = getattr(world, "cold" if way == "cold" else "run")(
        guard, *words, payload=event_for(agent), env=env
    )

    decided = understood(agent, end)
    assert end[0] in (0, 2)
    is_exit_code = end[0] == 2
    has_stderr = harm not in ("closes all descriptors", "closes standard streams")
    if agent == "codex" and is_exit_code and not has_stderr:
        return  # it takes a text for a denial, and there is no place for one
    assert decided.outcome is Outcome.DENY, end
    if has_stderr:
        assert "not here" in (end[2] if is_exit_code else decided.reason)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["cold", "warm"])
@pytest.mark.parametrize(
    "harm",
    [
        pytest.param(harm, marks=() if harm in QUICK else (FULL,))
        for harm in HARMS
        if harm not in ("closes all descriptors", "closes standard streams", "closes streams")
        # those close the event before it is read
        and harm not in ("may take no memory", "is no argument", "replaces os", "clears modules")
        # those leave no way to read it
        and harm not in ("replaces builtins", "may open no file", "forks")
    ],
)
def test_a_denial_survives_what_its_file_does_when_it_is_loaded(world, way, harm):
    body = f"{IMPORTS}\n{HARMS[harm]}\n@hooks.before_tool\ndef say(event): return deny('not here')"
    path = world.hook(body, f"loaded_{list(HARMS).index(harm)}.py")
    if way == "warm":
        world.run(path, payload=b"")  # starts a server, if the file can have one

    end = getattr(world, "cold" if way == "cold" else "run")(path, payload=event_for("gemini"))

    decided = understood("gemini", end)
    assert (decided.outcome, decided.reason) == (Outcome.DENY, "not here")


SILENT = "@hooks.before_tool\ndef say(event): return {answer}"


@pytest.mark.parametrize("redirect", [">&-", ">&- 2>&-", "> /dev/full"])
@pytest.mark.parametrize("agent", fast_for(AGENTS, "claude", "gemini"))
def test_a_denial_without_a_standard_output_is_an_exit_code(world, agent, redirect):
    path = world.hook(SILENT.format(answer="deny('not here')"), "silent.py")

    end = redirected(world, path, redirect, agent)

    assert end[0] == 2
    assert ("not here" in end[2]) is ("2>" not in redirect)
    if agent != "codex" or "2>" not in redirect:  # it takes a text for a denial only
        assert understood(agent, end).outcome is Outcome.DENY


@pytest.mark.parametrize("redirect", [">&-", "> /dev/full"])
@pytest.mark.parametrize("answer", ["context('mind this')", "allow('fine')", "ask('sure?')"])
def test_only_a_denial_becomes_the_code_that_blocks(world, answer, redirect):
    path = world.hook(SILENT.format(answer=answer), "other.py")

    end = redirected(world, path, redirect, "claude")

    assert end[0] == 1
    assert "the answer is lost" in end[2]


def redirected(world, path, redirect, agent):
    line = f'"$@" {redirect}'
    own = Warm(world.root, ["bash", "-c", line, "bash", *world.client])
    own.env = world.env
    return own.cold(path, "--agent", agent, payload=event_for(agent))


NO_CODE = {
    "claude": ["PermissionRequest"],
    "copilot": ["userPromptSubmitted", "postToolUse", "agentStop", "subagentStop"],
    "cursor": ["subagentStop", "stop"],
}
"""Events that JSON can deny and no exit code."""


@pytest.mark.parametrize("agent", AGENTS)
def test_the_exit_code_of_a_denial_blocks_but_on_the_events_that_the_page_lists(agent):
    spec = get_agent(agent)
    deniable = [event for event in spec.documented.events if event.denial is not Denial.NOTHING]

    not_blocked = [
        event.wire
        for event in deniable
        if understood(agent, (2, "", "no"), event.canonical).outcome is Outcome.NONE
    ]

    page = (Path(__file__).parents[2] / "docs" / "writing-hooks.md").read_text()
    assert not_blocked == NO_CODE.get(agent, [])
    listed = ", ".join(f"`{name}`" for name in not_blocked)
    assert not listed or f"|{spec.title}|{listed}|" in page


HANGS = {
    "blocks signals": (
        "signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals()); time.sleep(600)"
    ),
    "ignores signals": "signal.signal(signal.SIGALRM, signal.SIG_IGN); time.sleep(600)",
    "waits in compiled code": (
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM]); ctypes.CDLL(None).pause()"
    ),
}
LOCKED = "sum(itertools.repeat(0))"
"""Compiled code that keeps the interpreter's lock."""


@pytest.mark.slow
@pytest.mark.parametrize("harm", HANGS)
@pytest.mark.parametrize("way", ["cold", "warm"])
def test_a_hang_is_a_crash_when_the_time_is_over(world, way, harm):
    end = hang(world, HANGS[harm], way)

    assert "ran out of time" in understood("gemini", end).reason


@pytest.mark.slow
def test_a_warm_hang_that_keeps_the_lock_of_the_interpreter_is_a_crash(world):
    end = hang(world, LOCKED, "warm")

    assert "ran out of time" in understood("gemini", end).reason


@pytest.mark.slow
def test_a_server_ends_a_hang_when_no_client_knows_the_time(world):
    end = hang(world, LOCKED, "warm", "timeout=0.5, ", words=())

    assert "ran out of time" in understood("gemini", end).reason


def hang(world, statement, way, options="", words=("--timeout", "2")):
    body = (
        f"{IMPORTS}\nhooks = Hooks({options}on_crash='deny')\n"
        f"@hooks.before_tool\ndef say(event):\n    {statement}"
    )
    path = world.hook(body, f"hang_{zlib.crc32(body.encode())}.py")
    if way == "warm":
        world.wake(path, *words)
    run = world.cold if way == "cold" else world.run
    return run(path, *words, payload=event_for("gemini"))


@pytest.mark.slow
@pytest.mark.parametrize("way", ["cold", "warm"])
def test_an_exit_function_that_never_ends_does_not_hold_a_denial(world, way):
    body = (
        f"{IMPORTS}\n@hooks.before_tool\ndef say(event):\n"
        "    atexit.register(time.sleep, 600)\n    return deny('not here')"
    )
    path = world.hook(body, "endless.py")
    if way == "warm":
        world.wake(path, "--timeout", "2")

    run = world.cold if way == "cold" else world.run
    end = run(path, "--timeout", "2", payload=event_for("gemini"))

    assert understood("gemini", end).reason == "not here"


# -- limits and signals of the client

BIG = "x" * 100_000


@pytest.mark.parametrize("way", ["cold", "warm"])
@pytest.mark.parametrize("text", ["ls", BIG], ids=["short", "long"])
def test_a_client_that_may_write_no_file_hands_the_event_on(world, way, text):
    path = world.hook(SILENT.format(answer="deny(str(len(event.text)))"), "length.py")
    own = Warm(world.root, ["bash", "-c", 'ulimit -f 0; exec "$@"', "bash", *CLIENT])
    own.env = world.env
    if way == "warm":
        world.wake(path)
    event = make_payload("before_tool", agent="gemini", tool="shell", input={"command": text})

    end = (own.cold if way == "cold" else own.run)(path, payload=event)

    assert understood("gemini", end).outcome is Outcome.DENY


SIGNALS = ("SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGTERM", "SIGCHLD")
REPORTS = SILENT.format(
    answer="deny(repr(sorted(n.name for n in signal.valid_signals() if isinstance(n, "
    "signal.Signals) and signal.getsignal(n) == signal.SIG_IGN)))"
)


def ignore_signals():
    for name in SIGNALS:
        signal.signal(getattr(signal, name), signal.SIG_IGN)


def allow_signals():
    for name in SIGNALS:
        signal.signal(getattr(signal, name), signal.SIG_DFL)


@pytest.mark.slow
@pytest.mark.parametrize("starts", [ignore_signals, allow_signals])
@pytest.mark.parametrize("asks", [ignore_signals, allow_signals])
def test_a_warm_hook_ignores_the_signals_that_its_client_ignores(world, starts, asks):
    own = Warm(world.root)
    path = own.hook(f"{IMPORTS}\n{REPORTS}", "signals.py")
    try:
        own.wake(path, preexec_fn=starts)

        warm = own.warm(path, preexec_fn=asks)

        assert warm == own.cold(path, preexec_fn=asks)
        ignored = json.loads(warm[1])["reason"]
        assert ("SIGHUP" in ignored) is (asks is ignore_signals)
    finally:
        own.close()


@pytest.mark.slow
def test_a_client_that_writes_into_a_file_without_room_denies_by_its_code(world):
    path = world.hook(SILENT.format(answer="deny('not here')"), "room.py")
    world.wake(path)

    end = subprocess.run(
        ["bash", "-c", 'ulimit -f 0; exec "$@" > answer', "bash", *CLIENT, str(path)],
        input=json.dumps(event_for("gemini")).encode(),
        capture_output=True,
        check=False,
        cwd=world.root,
        env={**os.environ, **world.env},
    )

    assert end.returncode == 2
    assert end.stderr == b"not here\n"

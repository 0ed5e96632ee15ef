"""Hook files on a worker: nobody can tell the difference, whatever the hook does."""

from __future__ import annotations

import json
import os
import sys

import pytest

from tests.waiting import until
from tests.warm import CLIENTS, WRITE, Warm, is_running


@pytest.fixture(params=sorted(CLIENTS))
def warm(request, tmp_path):
    world = Warm(tmp_path, CLIENTS[request.param])
    yield world
    world.close()


SAYS = "@hooks.before_tool\ndef say(event):\n"
SAME = {
    "no opinion": SAYS + "    return None",
    "deny": SAYS + "    return deny('no: ' + event.text)",
    "allow": SAYS + "    return allow('fine')",
    "context": SAYS + "    return context('mind the gap ÄÖÜ 😀')",
    "crash": SAYS + "    raise ValueError('secret')",
    "nonsense": SAYS + "    return 17",
    "exit code": SAYS + "    raise SystemExit(3)",
    "exit text": SAYS + "    import sys; sys.exit('bye')",
    "exit 0": SAYS + "    import sys; sys.exit()",
    "os._exit": SAYS + "    import os; os._exit(5)",
    "print": SAYS + "    print('to the people'); return deny('x')",
    "print to fd 1": SAYS + "    import os; os.write(1, b'spoils'); return deny('x')",
    "print to fd 2": SAYS + "    import os; os.write(2, b'told'); return deny('x')",
    "child prints": SAYS + "    import os; os.system('echo from a child'); return deny('x')",
    "reads stdin": SAYS + "    import sys; return deny(repr(sys.stdin.read()))",
    "argv": SAYS + "    import sys; return deny(repr((sys.argv, sys.orig_argv[1:])))",
    "cwd": SAYS + "    import os; return deny(os.getcwd())",
    "main": SAYS + "    import sys, __main__; return deny(repr((__name__, __file__, sys.path[0],"
    " __main__.hooks is hooks, sys.modules[say.__module__].__file__)))",
    "umask": SAYS + "    import os; m = os.umask(0); os.umask(m); return deny(oct(m))",
    "environment": SAYS + "    import os; drop = {'_', 'SHLVL', 'ANYHOOK_WORKER'}\n"
    "    return deny(repr(sorted(p for p in os.environ.items() if p[0] not in drop)))",
    "getenv of a child": SAYS + "    import subprocess\n"
    "    return deny(subprocess.run(['sh', '-c', 'echo $OF_THE_CALL'],"
    " capture_output=True, text=True).stdout)",
    "descriptors": SAYS + "    import os\n"
    "    return deny(repr([fd for fd in range(3) if os.fstat(fd)]))",
    "isolated": SAYS + "    import sys; return deny(repr(sys.flags))",
    "prefix": SAYS + "    import sys; return deny(repr((sys.prefix, sys.executable, sys.version)))",
    "async": "@hooks.before_tool\nasync def say(event):\n"
    "    import asyncio; await asyncio.sleep(0.01); return deny('slept')",
    "forks and leaves the child": SAYS + "    import os, time\n"
    "    if os.fork() == 0:\n        os._exit(0)\n    return deny('x')",
    "forks and the child returns": SAYS + "    import os\n    pid = os.fork()\n"
    "    if pid: os.waitpid(pid, 0)\n    return deny('x')",
    "forks beside a thread": SAYS + "    import os, threading, warnings\n"
    "    go = threading.Event()\n    thread = threading.Thread(target=go.wait)\n"
    "    thread.start()\n    warnings.simplefilter('ignore')\n    pid = os.fork()\n"
    "    if pid == 0:\n        os.write(2, str(threading.active_count()).encode())\n"
    "        os._exit(0)\n    os.waitpid(pid, 0)\n    go.set()\n    thread.join()\n"
    "    return deny('x')",
    "thread": SAYS + "    import threading, time\n"
    "    threading.Thread(target=time.sleep, args=(30,)).start()\n    return deny('x')",
    "atexit": SAYS + "    import atexit, os\n    atexit.register(os.write, 2, b'at the end')\n"
    "    return deny('x')",
    "signal handler": SAYS + "    import signal\n    signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    "    return deny('x')",
    "closes stdin": SAYS + "    import sys; sys.stdin.close(); return deny('x')",
    "closes stdout": SAYS + "    import os; os.close(1); return deny('x')",
    "replaces stdout": SAYS + "    import io, sys; sys.stdout = io.StringIO(); return deny('x')",
    "closes sys.stdout": SAYS + "    import sys; sys.stdout.close(); return deny('x')",
    "closes sys.stderr": SAYS + "    import sys; sys.stderr.close(); return deny('x')",
    "sets a variable while loading": "import os\nos.environ['OF_LOADING'] = '1'\n"
    "os.environ.setdefault('OF_THE_CALL', 'none')\nos.environ.pop('PATH', None)\n"
    + SAYS
    + "    return deny(repr([os.environ.get(n) for n in ('OF_LOADING', 'OF_THE_CALL', 'PATH')]))",
    "looks at every variable while loading": "import os\nALL = sorted(dict(os.environ))\n"
    + SAYS
    + "    return deny(os.environ['OF_THE_CALL'])",
    "long": SAYS + "    return deny('ä' * 300_000)",
}


@pytest.mark.parametrize("name", SAME)
def test_a_hook_cannot_tell_the_difference(warm, name):
    path = warm.hook(SAME[name])
    options = {"env": {"OF_THE_CALL": "7"}}

    expected = warm.cold(path, "--timeout", "9", **options)
    first = warm.warm(path, "--timeout", "9", **options)

    assert first == expected
    assert warm.run(path, "--timeout", "9", **options) == expected  # whatever the first one left


@pytest.mark.parametrize("payload", [b"", b"{", b"[1]", b'{"hook_event_name": "What"}', b"\xff"])
def test_a_hook_without_a_proper_event_ends_in_the_same_way(warm, payload):
    path = warm.hook(SAYS + "    return deny('x')")

    assert warm.warm(path, payload=payload) == warm.cold(path, payload=payload)


def test_a_large_event_arrives_whole(warm):
    payload = {**WRITE, "tool_input": {"file_path": "a", "content": "x" * 5_000_000}}
    path = warm.hook(SAYS + "    return deny(str(len(event.text)))")

    assert "5000" in warm.warm(path, payload=payload)[1]
    assert warm.run(path, payload=payload) == warm.cold(path, payload=payload)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("print('loading')", "prints while it is loaded"),
        ("import subprocess\nsubprocess.run(['true'])", "starts a program"),
        ("import threading as t\nt.Timer(9, int).start()", "starts a thread"),
        ("import os\nif os.fork() == 0: os._exit(0)", "starts a process"),
        ("hooks = Hooks(state='cold')\n", 'says state="cold"'),
        ("1 / 0", "fails while it is loaded (ZeroDivisionError)"),
        ("import sys\nsys.exit(4)", "fails while it is loaded (SystemExit)"),
        ("hooks.run([])", "gives hooks.run() arguments of its own"),
        ("(", "cannot be read (SyntaxError)"),
    ],
)
def test_a_file_that_cannot_be_warm_runs_cold_and_the_reason_is_known(warm, text, reason):
    path = warm.hook(text)
    warm.wake()

    assert warm.run(path) == warm.cold(path)
    assert any(reason in told for told in warm.reasons), warm.reasons


def test_a_file_that_does_more_than_run_its_hooks_runs_cold(warm):
    path = warm.hook("", footer="\nhooks.run()\nprint('more')\n")
    warm.wake()

    assert warm.run(path) == warm.cold(path)
    assert "behind hooks.run()" in warm.reasons[0]


def test_a_missing_file_is_reported_in_the_same_way(warm):
    warm.wake()
    path = warm.root / "missing.py"

    assert warm.run(path) == warm.cold(path)
    assert warm.run(path) == (1, "", f"anyhook-run: hook file not found: {path}\n")


def test_options_of_an_interpreter_go_to_the_interpreter(warm):
    assert warm.run("-c", "print(input()[:3])", payload=b"abcdef") == (0, "abc\n", "")


def test_what_a_hook_wrote_to_a_file_that_it_keeps_open_is_there_with_the_answer(warm):
    path = warm.hook(
        "LOG = None\n" + SAYS + "    global LOG\n    LOG = LOG or open('log.txt', 'a')\n"
        "    LOG.write('x')\n    return deny('no')"
    )
    for count in (1, 2, 3):
        assert warm.warm(path)[0] == 0
        assert (warm.root / "log.txt").read_text() == "x" * count


def test_a_file_that_loading_keeps_open_for_writing_keeps_the_hook_cold(warm):
    path = warm.hook("LOG = open('log.txt', 'a')\n" + SAYS + "    LOG.write('x')")
    warm.wake()

    for count in (1, 2):
        assert warm.run(path)[0] == 0
        assert (warm.root / "log.txt").read_text() == "x" * count
    assert any("opens a file for writing" in reason for reason in warm.reasons)


def test_a_module_that_was_missing_counts_when_it_comes(warm):
    path = warm.hook(
        "try:\n    from rules import RULE\nexcept ImportError:\n    RULE = 'none'\n"
        + SAYS
        + "    return deny(RULE)"
    )
    assert reason_of(warm.warm(path)) == "none"

    (warm.root / "rules.py").write_text("RULE = 'some'")

    assert reason_of(warm.warm(path)) == "some"


def test_an_edit_while_the_file_is_being_loaded_counts(warm):
    waits = (
        "import os, time\nos.mkdir('loading')\nwhile not os.path.exists('go'): time.sleep(0.01)\n"
    )
    path = warm.hook(waits + SAYS + "    return deny('before')")
    warm.wake()
    process = warm.start(path)
    process.stdin.write(json.dumps(WRITE).encode())
    process.stdin.close()
    until((warm.root / "loading").exists)

    warm.hook(SAYS + "    return deny('after it')")
    (warm.root / "go").touch()
    process.wait()
    process.stdout.close()
    process.stderr.close()

    assert reason_of(warm.warm(path)) == "after it"


@pytest.mark.parametrize("state", ["kept", "fresh"])
def test_a_hook_that_is_killed_never_allows(warm, state):
    path = warm.hook(
        f"hooks = Hooks(state='{state}')\n" + SAYS + "    import os, signal, subprocess\n"
        "    if not os.path.exists('died'):\n        os.mkdir('died')\n"
        "        subprocess.Popen(['sleep', '3'], close_fds=False)\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n    return deny('no')"
    )
    warm.wake()

    assert reason_of(warm.run(path)) == "no"


COUNT = "seen = []\n" + SAYS + "    seen.append(1)\n    return deny(str(len(seen)))"


def reason_of(end) -> str:
    return json.loads(end[1])["reason"]


def test_module_state_stays_between_events_if_nothing_else_is_asked_for(warm):
    path = warm.hook(COUNT)

    assert [reason_of(warm.warm(path)) for _ in range(3)] == ["1", "2", "3"]


def test_module_state_is_fresh_where_the_author_asks_for_it(warm):
    path = warm.hook("hooks = Hooks(state='fresh')\n" + COUNT)

    assert [reason_of(warm.warm(path)) for _ in range(3)] == ["1", "1", "1"]


@pytest.mark.parametrize("name", ["exit code", "os._exit", "print to fd 2", "crash", "thread"])
def test_a_fresh_copy_ends_as_a_cold_hook_does(warm, name):
    path = warm.hook("hooks = Hooks(state='fresh')\n" + SAME[name])

    expected = warm.cold(path)
    assert warm.warm(path) == expected
    assert warm.run(path) == expected


def test_directories_share_nothing(warm):
    path = warm.hook(COUNT)
    other = warm.root / "other"
    other.mkdir()

    assert reason_of(warm.warm(path)) == "1"
    assert reason_of(warm.warm(path, cwd=other)) == "1"
    assert reason_of(warm.warm(path)) == "2"


def test_arguments_share_nothing(warm):
    path = warm.hook(COUNT)

    assert reason_of(warm.warm(path)) == "1"
    assert reason_of(warm.warm(path, "--timeout", "5")) == "1"


def test_a_variable_of_one_call_never_reaches_another(warm):
    path = warm.hook(
        SAYS + "    import os, subprocess\n"
        "    child = subprocess.run(['env'], capture_output=True, text=True).stdout\n"
        "    return deny(f\"{os.environ.get('SECRET')} {'SECRET' in child}\")"
    )

    assert reason_of(warm.warm(path, env={"SECRET": "s3"})) == "s3 True"
    assert reason_of(warm.warm(path)) == "None False"
    with open(f"/proc/{warm.worker['pid']}/environ", "rb") as file:
        assert b"ANYHOOK_RUNTIME_DIR" not in file.read()  # not even that of who started it


def test_a_variable_that_the_file_looked_at_while_loading_makes_it_load_again(warm):
    text = "import os\nMODE = os.environ.get('MODE')\n"
    path = warm.hook(text + SAYS + "    return deny(f'{MODE}')")

    assert reason_of(warm.warm(path)) == "None"
    assert reason_of(warm.warm(path, env={"MODE": "strict"})) == "strict"
    assert reason_of(warm.warm(path)) == "None"


def test_an_edit_counts_at_once(warm):
    path = warm.hook(SAYS + "    return deny('before')")
    assert reason_of(warm.warm(path)) == "before"

    warm.hook(SAYS + "    return deny('after it')")

    assert reason_of(warm.warm(path)) == "after it"


def test_an_edit_of_what_it_imports_counts_at_once(warm):
    (warm.root / "words.py").write_text("WORD = 'before'")
    path = warm.hook("import words\n" + SAYS + "    return deny(words.WORD)")
    assert reason_of(warm.warm(path)) == "before"

    (warm.root / "words.py").write_text("WORD = 'after it'")

    assert reason_of(warm.warm(path)) == "after it"


def test_an_edit_of_what_a_function_imported_later_counts_at_once(warm):
    (warm.root / "words.py").write_text("WORD = 'before'")
    path = warm.hook(SAYS + "    import words; return deny(words.WORD)")
    assert reason_of(warm.warm(path)) == "before"

    (warm.root / "words.py").write_text("WORD = 'after it'")

    assert reason_of(warm.warm(path)) == "after it"


def test_an_edit_of_a_file_that_was_read_while_loading_counts_at_once(warm):
    (warm.root / "rules.json").write_text('"before"')
    path = warm.hook(
        "import json\nwith open('rules.json') as f: RULES = json.load(f)\n"
        + SAYS
        + "    return deny(RULES)"
    )
    assert reason_of(warm.warm(path)) == "before"

    (warm.root / "rules.json").write_text('"after it"')

    assert reason_of(warm.warm(path)) == "after it"


def test_a_file_that_was_not_there_while_loading_counts_when_it_comes(warm):
    path = warm.hook(
        "try:\n    RULES = open('rules.txt').read()\nexcept OSError:\n    RULES = 'none'\n"
        + SAYS
        + "    return deny(RULES)"
    )
    assert reason_of(warm.warm(path)) == "none"

    (warm.root / "rules.txt").write_text("some")

    assert reason_of(warm.warm(path)) == "some"


def test_an_edit_that_breaks_the_file_ends_as_a_cold_hook_does(warm):
    path = warm.hook(SAYS + "    return deny('x')")
    warm.warm(path)

    path.write_text("(")

    assert warm.run(path) == warm.cold(path)


def test_a_hook_that_is_too_slow_ends_as_its_author_chose(warm):
    path = warm.hook(
        "hooks = Hooks(timeout=0.2, on_crash='deny')\n" + SAYS + "    while True: pass"
    )

    expected = warm.cold(path)
    assert "ran out of time" in expected[1]
    assert warm.warm(path) == expected
    assert warm.run(path) == expected


def test_a_client_that_is_ended_takes_its_hook_with_it(warm):
    path = warm.hook(SAYS + "    open('begun', 'w').close()\n    while True: pass")
    warm.wake()
    process = warm.start(path)
    process.stdin.write(json.dumps(WRITE).encode())
    process.stdin.close()
    until((warm.root / "begun").exists)
    (executor,) = warm.executors(path)

    process.kill()
    process.wait()
    process.stdout.close()
    process.stderr.close()

    until(lambda: not is_running(executor))
    assert reason_of(warm.warm(warm.hook(SAYS + "    return deny('next')", "next.py"))) == "next"


def test_hooks_of_one_file_run_side_by_side(warm):
    path = warm.hook(
        SAYS + "    import os, time\n    open(f'here-{os.getpid()}', 'w').close()\n"
        "    while len([n for n in os.listdir() if n.startswith('here-')]) < 5: time.sleep(0.01)\n"
        "    return deny('all here')"
    )
    warm.wake()

    started = [warm.start(path) for _ in range(5)]
    for process in started:
        process.stdin.write(json.dumps(WRITE).encode())
        process.stdin.close()
    ends = [(process.stdout.read(), process.wait()) for process in started]
    for process in started:
        process.stdout.close()
        process.stderr.close()

    assert [json.loads(out)["reason"] for out, _ in ends] == ["all here"] * 5


def test_an_answer_that_nobody_reads_still_denies(warm):
    path = warm.hook(SAYS + "    return deny('x')")
    warm.wake()
    for _ in range(2):
        process = warm.start(path)
        process.stdout.close()
        process.stdin.write(json.dumps(WRITE).encode())
        process.stdin.close()
        assert process.wait() == 2
        assert process.stderr.read() == b"x\n"
        process.stderr.close()


def test_the_command_of_the_package_reaches_the_same_worker(warm):
    path = warm.hook(COUNT)
    assert reason_of(warm.warm(path)) == "1"

    warm.client = [os.path.join(os.path.dirname(sys.executable), "anyhook"), "run"]

    assert reason_of(warm.warm(path)) == "2"


def test_every_agent_is_served_by_the_same_file(warm):
    from anyhook.testing import make_payload

    path = warm.hook(SAYS + "    return deny('no')")
    for agent in ("gemini", "claude", "terminai"):
        payload = make_payload("before_tool", agent=agent, tool="shell", input={"command": "ls"})
        assert warm.warm(path, payload=payload) == warm.cold(path, payload=payload)


def test_a_thread_that_the_interpreter_starts_with_is_nothing_of_the_hooks(warm):
    (warm.root / "sitecustomize.py").write_text(
        "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    )
    path = warm.hook(SAYS + "    import threading; return deny(str(threading.active_count()))")
    env = {"PYTHONPATH": str(warm.root)}

    assert '"1"' in warm.warm(path, env=env)[1]
    assert '"1"' in warm.warm(path, env=env)[1]
    assert len(warm.executors(path)) == 1

"""Servers when something goes wrong: each call ends with the right answer, no process is left."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from anyhook.worker import client, endpoint
from anyhook.worker.client import STOP, pack_run
from anyhook.worker.control import ask
from tests.waiting import until
from tests.warm import WRITE, Warm, is_running

pytestmark = pytest.mark.slow

SAYS = "@hooks.before_tool\ndef say(event):\n"
DENIES = SAYS + "    return deny('no')"
SRC = Path(client.__file__).parents[2]


@pytest.fixture
def warm(tmp_path):
    world = Warm(tmp_path)
    yield world
    world.close()


def reason_of(end) -> str:
    return json.loads(end[1])["reason"]


def give(process, payload=WRITE) -> None:
    process.stdin.write(json.dumps(payload).encode())
    process.stdin.close()


def take(process) -> tuple[int, str, str]:
    out, err = process.stdout.read(), process.stderr.read()
    process.stdout.close()
    process.stderr.close()
    return process.wait(), out.decode(), err.decode()


WAITS = (
    SAYS + "    import os, time\n    open(f'begun-{os.getpid()}', 'w').close()\n"
    "    while not os.path.exists('go'): time.sleep(0.01)\n    return deny('no')"
)


def begun(warm) -> list[int]:
    return [int(path.name.partition("-")[2]) for path in warm.root.glob("begun-*")]


# -- ends


def test_a_worker_that_is_killed_in_the_middle_of_a_call_costs_no_answer(warm):
    path = warm.hook(WAITS)
    warm.wake(path)
    process = warm.start(path)
    give(process)
    (child,) = until(lambda: begun(warm))

    os.kill(warm.server["pid"], signal.SIGKILL)
    (warm.root / "go").touch()

    assert reason_of(take(process)) == "no"
    until(lambda: not is_running(child))
    assert reason_of(warm.warm(path)) == "no"  # on the next worker


def test_an_child_that_is_killed_in_the_middle_of_a_call_costs_no_answer(warm):
    path = warm.hook(WAITS)
    warm.wake(path)
    process = warm.start(path)
    give(process)
    (child,) = until(lambda: begun(warm))

    (warm.root / "go").touch()
    os.kill(child, signal.SIGKILL)

    assert reason_of(take(process)) == "no"
    until(lambda: any("killed by signal 9" in reason for reason in warm.reasons) or warm.served)


def test_everything_killed_at_once_costs_no_answer(warm):
    path = warm.hook(WAITS)
    warm.wake(path)
    started = [warm.start(path) for _ in range(3)]
    for process in started:
        give(process)
    until(lambda: len(begun(warm)) == 3)

    warm.kill()
    (warm.root / "go").touch()

    assert [reason_of(take(process)) for process in started] == ["no"] * 3


def test_two_hundred_clients_at_once_start_one_worker(warm):
    path = warm.hook(DENIES)

    started = [warm.start(path) for _ in range(200)]
    for process in started:
        give(process)
    ends = [take(process) for process in started]

    assert {(code, reason_of((code, out, err)), err) for code, out, err in ends} == {(0, "no", "")}
    until(lambda: warm.servers)
    assert len(warm.servers) == 1
    until(lambda: roots(warm.processes) == [warm.server["pid"]])


def roots(pids: list[int]) -> list[int]:
    """Return the processes that are children of none of the others."""
    return [pid for pid in pids if parent_of(pid) not in pids]


def parent_of(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return -1


def test_a_hook_that_loops_for_ever_costs_its_own_call_alone(warm):
    looping = warm.hook("hooks = Hooks(timeout=60)\n" + SAYS + "    while True: pass")
    other = warm.hook(DENIES, "other.py")
    warm.wake(looping)
    process = warm.start(looping)
    give(process)
    child = warm.child(looping)

    assert reason_of(warm.warm(other)) == "no"
    process.kill()
    take(process)
    until(lambda: not is_running(child))


def test_a_hook_that_ignores_signals_is_ended_all_the_same(warm):
    path = warm.hook(
        SAYS + "    import signal\n    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "    open('begun', 'w').close()\n    while True: pass"
    )
    warm.wake(path)
    process = warm.start(path)
    give(process)
    until((warm.root / "begun").exists)
    child = warm.child(path)

    process.kill()
    take(process)

    until(lambda: not is_running(child))


def test_children_of_a_hook_that_is_ended_end_with_it(warm):
    path = warm.hook(
        SAYS + "    import subprocess\n    child = subprocess.Popen(['sleep', '60'])\n"
        "    open(f'begun-{child.pid}', 'w').close()\n    while True: pass"
    )
    warm.wake(path)
    process = warm.start(path)
    give(process)
    (child,) = until(lambda: begun(warm))

    process.kill()
    take(process)

    until(lambda: not is_running(child))


def test_a_hook_whose_memory_ends_costs_that_call_alone(warm):
    path = warm.hook(
        SAYS
        + "    import resource\n    resource.setrlimit(resource.RLIMIT_AS, (1 << 28, 1 << 28))\n"
        "    try:\n        b'x' * (1 << 40)\n"
        "    except MemoryError:\n        return deny('out of memory')"
    )
    other = warm.hook(DENIES, "other.py")

    assert reason_of(warm.warm(path)) == "out of memory"
    assert reason_of(warm.warm(other)) == "no"


def test_a_burst_of_slow_hooks_is_bounded_and_loses_no_answer(warm):
    path = warm.hook(WAITS)
    warm.wake(path)
    pid = warm.server["pid"]
    started = [warm.start(path) for _ in range(40)]
    for process in started:
        give(process)
    until(lambda: len(begun(warm)) >= 38)
    children = [p for p in warm.processes if parent_of(p) == pid]
    assert len(children) <= 34  # MAX_BUSY, and those that have just finished

    (warm.root / "go").touch()

    assert [reason_of(take(process)) for process in started] == ["no"] * 40


def test_clients_that_send_nothing_are_bounded(warm):
    path = warm.hook(DENIES)
    warm.wake(path)
    pid, address = warm.server["pid"], warm.server["address"] + ".sock"
    links = []
    for _ in range(10):
        link = socket.socket(socket.AF_UNIX)
        link.connect(address)
        link.send(b"AHK2")
        links.append(link)

    assert reason_of(warm.run(path)) == "no"
    for link in links:
        link.close()
    until(lambda: len([p for p in warm.processes if parent_of(p) == pid]) <= 3)
    assert reason_of(warm.warm(path)) == "no"
    assert warm.server["pid"] == pid


def test_children_end_when_their_server_is_killed(warm):
    path = warm.hook(DENIES)
    warm.wake(path)
    assert len(warm.processes) >= 2

    os.kill(warm.server["pid"], signal.SIGKILL)

    until(lambda: not warm.processes)
    assert reason_of(warm.warm(path)) == "no"


def test_a_server_whose_children_are_killed_forks_others(warm):
    path = warm.hook(DENIES)
    warm.wake(path)
    pid = warm.server["pid"]
    until(lambda: any(parent_of(child) == pid for child in warm.processes))
    warm.kill(but=pid)

    assert reason_of(warm.run(path)) == "no"
    assert reason_of(warm.warm(path)) == "no"
    assert warm.server["pid"] == pid


# -- no worker can be


def test_a_runtime_directory_that_cannot_be_made_runs_hooks_cold(warm):
    blocked = warm.root / "file"
    blocked.write_text("")
    path = warm.hook(DENIES)
    env = {"ANYHOOK_RUNTIME_DIR": str(blocked / "run")}

    for _ in range(2):
        assert warm.run(path, env=env) == warm.cold(path)


def test_a_runtime_directory_that_is_open_to_others_is_not_used(warm):
    path = warm.hook(DENIES)
    warm.runtime.chmod(0o755)

    for _ in range(2):
        assert warm.run(path) == warm.cold(path)

    assert not list(warm.runtime.iterdir())
    warm.runtime.chmod(0o700)


def test_a_runtime_directory_that_is_a_link_is_not_used(warm):
    path = warm.hook(DENIES)
    link = warm.root / "link"
    link.symlink_to(warm.runtime)

    for _ in range(2):
        assert warm.run(path, env={"ANYHOOK_RUNTIME_DIR": str(link)}) == warm.cold(path)

    assert not list(warm.runtime.iterdir())


def test_a_path_that_is_too_long_for_a_socket_runs_hooks_cold(warm):
    path = warm.hook(DENIES)
    env = {"ANYHOOK_RUNTIME_DIR": str(warm.root / ("x" * 120))}

    for _ in range(2):
        assert warm.run(path, env=env) == warm.cold(path)


IN_A_FULL_DISK = """
set -e
mount -t tmpfs -o size=4k,mode=700 none "$1"
head -c 100000 /dev/zero > "$1/full" 2>/dev/null || true
shift
exec "$@"
"""


def test_a_full_disk_runs_hooks_cold(warm):
    path = warm.hook(DENIES)
    unshare = ["unshare", "-rm", "sh", "-c", IN_A_FULL_DISK, "sh", str(warm.runtime)]
    if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine lets nobody mount")
    expected = warm.cold(path)
    warm.client = [*unshare, *warm.client]

    for _ in range(2):
        assert warm.run(path) == expected
    assert not warm.processes


def test_an_interpreter_that_is_not_there_is_reported(warm):
    path = warm.hook(DENIES)
    warm.client = [*warm.client[:-1], "/no/such/python"]

    code, out, err = warm.run(path)

    assert (code, out) == (127, "")
    assert "anyhook run: /no/such/python: No such file or directory" in err


def test_an_interpreter_without_anyhook_runs_hooks_cold(warm):
    bare = warm.root / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", bare], check=True)
    path = warm.hook("import sys\nprint(sys.stdin.read(3))", header="", footer="")
    warm.client = [*warm.client[:-1], str(bare / "bin" / "python")]

    for _ in range(2):
        assert warm.run(path, payload=b"abcdef") == (0, "abc\n", "")
    until(lambda: not warm.processes)


def test_a_worker_that_speaks_nonsense_runs_hooks_cold(warm):
    path = warm.hook(DENIES)
    base = warm.address(path)
    for message in (b"", b"HTTP/1.1 400\r\n\r\n", b"AHK2\xff\xff\xff\xff", b"AHK2\x01\0\0\0D"):
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(base + ".sock")
            listener.listen()
            process = warm.start(path)
            give(process)
            link, _ = listener.accept()
            with link:
                link.send(message)
                link.shutdown(socket.SHUT_WR)
                assert reason_of(take(process)) == "no"
        os.unlink(base + ".sock")


def spoken(warm, path, *messages, words=(), close=False):
    """Run a client whose worker says something and then nothing more, or ends the connection."""
    address = warm.address(path) + ".sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        process = warm.start(path, *words)
        give(process)
        link, _ = listener.accept()
        with link:
            for message in messages:
                link.send(message)
            if close:
                link.shutdown(socket.SHUT_WR)
            end = take(process)
    os.unlink(address)
    return end


def framed(body):
    return client.MAGIC + len(body).to_bytes(4, "little") + body


def reply(err, lost, texts=b"{}"):
    sizes = err.to_bytes(4, "little") + lost.to_bytes(4, "little")
    return framed(client.DONE + b"\0\0" + sizes + texts)


@pytest.mark.parametrize(
    "reply",
    [
        reply(3, 0),
        reply(0, 3),
        reply(2, 1),
        reply(0xFFFFFFFF, 0),
        reply(1, 0xFFFFFFFF),
        framed(client.DONE + b"\0\0"),
        client.MAGIC + b"\0\0\0\0",
        client.MAGIC + (client.MAX_FRAME + 1).to_bytes(4, "little") + reply(0, 0)[8:],
    ],
)
def test_a_reply_with_wrong_lengths_is_refused(warm, reply):
    path = warm.hook(DENIES)

    assert reason_of(spoken(warm, path, reply, close=True)) == "no"


def test_a_reply_that_arrives_byte_by_byte_does_not_hold_a_client(warm):
    path = warm.hook(DENIES)
    address = warm.address(path) + ".sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        process = warm.start(path)
        give(process)
        link, _ = listener.accept()
        with link:
            link.send(accepted(os.getpid()))
            sent = 0
            while process.poll() is None:
                with suppress(BrokenPipeError):
                    sent += link.send(reply(0, 0, b" " * 1000)[sent : sent + 1])
                select.select([process.stdout], [], [], 0.2)  # returns when the hook answers
    os.unlink(address)

    assert reason_of(take(process)) == "no"
    assert sent < 100  # one for each fifth of a second


def accepted(pid):
    return framed(client.ACCEPTED + pid.to_bytes(4, "little"))


@pytest.fixture
def stopped():
    """A process that is stopped."""
    process = subprocess.Popen(["sleep", "600"])
    process.send_signal(signal.SIGSTOP)
    yield process.pid
    process.kill()
    process.wait()


@pytest.mark.parametrize("cut", [0, 4, 8, None])
def test_a_worker_that_accepts_and_is_silent_does_not_hold_a_client(warm, cut):
    path = warm.hook(DENIES)

    assert reason_of(spoken(warm, path, framed(client.ACCEPTED)[:cut])) == "no"


def test_a_worker_whose_process_is_stopped_does_not_hold_a_client(warm, stopped):
    path = warm.hook(DENIES)

    assert reason_of(spoken(warm, path, accepted(stopped))) == "no"


def test_a_worker_that_only_promises_does_not_hold_a_client(warm):
    path = warm.hook(DENIES)

    assert reason_of(spoken(warm, path, framed(client.ACCEPTED) * 1000)) == "no"


def test_no_client_waits_longer_than_its_agent(warm):
    path = warm.hook("hooks = Hooks(on_crash='deny')\n" + SAYS + "    import time; time.sleep(600)")

    end = spoken(warm, path, accepted(os.getpid()), words=["--timeout", "2"])

    assert "ran out of time" in reason_of(end)


def test_a_process_that_is_stopped_in_the_middle_of_an_event_does_not_hold_a_client(warm):
    path = warm.hook(WAITS)
    warm.wake(path)
    process = warm.start(path)
    give(process)
    until(lambda: list(warm.root.glob("begun-*")))
    child = warm.child(path)

    os.kill(child, signal.SIGSTOP)
    (warm.root / "go").touch()

    assert reason_of(take(process)) == "no"
    until(lambda: not is_running(child))


def test_a_slow_hook_is_waited_for(warm):
    path = warm.hook(
        SAYS + "    import os, time\n    open(f'begun-{os.getpid()}', 'w').close()\n"
        "    end = time.monotonic() + 4\n    while time.monotonic() < end: pass\n"
        "    return deny('slow')"
    )

    assert reason_of(warm.warm(path)) == "slow"
    assert len(list(warm.root.glob("begun-*"))) == 1


def test_a_hook_that_is_lost_late_has_only_the_rest_of_its_time(warm):
    path = warm.hook(
        "hooks = Hooks(timeout=3, on_crash='deny')\n"
        + SAYS
        + "    import os, signal, time\n    second = os.path.exists('first')\n"
        "    open('second' if second else 'first', 'w').close()\n"
        "    begun = time.monotonic()\n"
        "    while time.monotonic() - begun < (2.2 if second else 1.5): pass\n"
        "    if not second: os.kill(os.getpid(), signal.SIGKILL)\n    return deny('in time')"
    )
    warm.wake(path)

    assert "ran out of time" in reason_of(warm.run(path))
    assert (warm.root / "second").exists()


def test_a_server_that_hangs_runs_hooks_cold(warm):
    path = warm.hook(DENIES)
    warm.wake(path)
    pid = warm.server["pid"]

    os.kill(pid, signal.SIGSTOP)
    try:
        for _ in range(4):  # the children that wait already answer the first ones
            assert reason_of(warm.run(path)) == "no"
    finally:
        os.kill(pid, signal.SIGCONT)


def test_a_worker_survives_clients_that_speak_nonsense(warm):
    path = warm.hook(DENIES)
    warm.wake(path)
    address = warm.server["address"] + ".sock"
    for message in (b"", b"GET / HTTP/1.1\r\n\r\n", b"AHK2\xff\xff\xff\xff", b"AHK2\x01\0\0\0R"):
        with socket.socket(socket.AF_UNIX) as link:
            link.connect(address)
            link.send(message)

    assert reason_of(warm.warm(path)) == "no"


def test_an_agent_that_waits_for_no_children_is_served(warm):
    path = warm.hook(SAYS + "    import os; os._exit(2)")
    guard = warm.hook(DENIES, "guard.py")

    def ignore():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)

    assert warm.warm(path, preexec_fn=ignore)[0] == 2
    assert reason_of(warm.warm(guard, preexec_fn=ignore)) == "no"


def test_a_directory_that_is_gone_runs_hooks_cold(warm):
    path = warm.hook(DENIES)
    warm.wake(path)
    gone = warm.root / "gone"
    line = f"mkdir {gone}; cd {gone}; rmdir {gone}; exec {' '.join(warm.client)} {path}"
    warm.client = ["sh", "-c", line]

    assert reason_of(warm.run("ignored")) == "no"


@pytest.mark.parametrize("directory", ["run", "./run"])
def test_a_relative_runtime_directory_is_not_used(warm, directory):
    path = warm.hook(DENIES)

    assert warm.run(path, env={"ANYHOOK_RUNTIME_DIR": directory}) == warm.cold(path)
    assert not (warm.root / "run").exists()


def test_another_view_of_the_file_system_has_another_worker(warm):
    path = warm.hook(SAYS + "    return deny(open('where').read())")
    (warm.root / "where").write_text("outside")
    inside = warm.root.parent / f"inside-{warm.root.name}"
    shutil.copytree(warm.root, inside)
    (inside / "where").write_text("inside")
    script = 'mount --bind "$1" "$2"; shift; cd "$1"; shift; exec "$@"'
    front = ["unshare", "-rm", "sh", "-c", script, "sh", str(inside), str(warm.root)]
    if subprocess.run([*front, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine lets nobody mount")
    assert reason_of(warm.warm(path)) == "outside"
    outside = warm.client
    warm.client = [*front, *outside]

    assert reason_of(warm.run(path)) == "inside"
    until(lambda: len(warm.servers) == 2)
    warm.client = outside
    assert reason_of(warm.run(path)) == "outside"


def test_the_longest_idle_server_ends_when_there_are_too_many(warm, monkeypatch):
    paths = [warm.hook(DENIES, f"hook{number}.py") for number in range(3)]
    for path in paths:
        warm.wake(path)
    warm.warm(paths[0])
    dead = warm.runtime / "0123456789abcdef"
    dead.with_suffix(".lock").touch()
    dead.with_suffix(".sock").touch()
    monkeypatch.setattr(endpoint, "MAX_SERVERS", 3)

    endpoint.make_room(str(warm.runtime))

    until(lambda: len(warm.servers) == 2)
    assert {server["hook"] for server in warm.servers} == {str(paths[0]), str(paths[2])}
    assert not dead.with_suffix(".sock").exists()
    assert reason_of(warm.warm(paths[1])) == "no"


# -- life


def start_server(warm, path, base, *words):
    request = pack_run(
        str(warm.root), [str(path)], warm.env, umask=0o22, ignored_signals=0, payload=b""
    )
    command = [sys.executable, "-c", client.SERVER_CODE, base, *words]
    return subprocess.run(command, input=request, check=False, timeout=20)


@pytest.mark.parametrize("text", [DENIES, "print('loading')"])
def test_a_server_ends_when_no_event_comes_and_leaves_nothing(warm, text):
    base = str(warm.runtime / "0123456789abcdef")

    assert start_server(warm, warm.hook(text), base, "0.2").returncode == 0

    assert [path.name for path in warm.runtime.iterdir()] == ["0123456789abcdef.lock"]


def test_two_servers_of_one_address_are_one(warm):
    path = warm.hook(DENIES)
    warm.wake(path)

    assert start_server(warm, path, warm.server["address"]).returncode == 0

    assert len(warm.servers) == 1


def test_a_worker_that_is_asked_to_stop_ends_what_it_has_begun(warm):
    path = warm.hook(WAITS)
    warm.wake(path)
    process = warm.start(path)
    give(process)
    until(lambda: begun(warm))
    old = warm.server["pid"]

    ask(warm.server["address"], STOP)
    until(lambda: not warm.servers)
    assert is_running(old)  # for the hook that runs
    (warm.root / "go").touch()

    assert reason_of(take(process)) == "no"
    until(lambda: not is_running(old))


@pytest.mark.parametrize("what", ["an upgrade", "a removal"])
def test_anyhook_itself_is_replaced_while_it_runs(warm, what):
    copy = warm.root / "lib"
    shutil.copytree(SRC / "anyhook", copy / "anyhook")
    env = {"PYTHONPATH": str(copy)}
    path = warm.hook(SAYS + "    import anyhook; return deny(anyhook.__version__)")
    assert reason_of(warm.warm(path, env=env)) == "0.1.0"
    old = warm.server["pid"]

    file = copy / "anyhook" / "__init__.py"
    if what == "a removal":
        shutil.rmtree(copy)
    else:
        file.write_text(file.read_text().replace('"0.1.0"', '"9.9.9"'))

    expected = "9.9.9" if what == "an upgrade" else "0.1.0"  # then the package of the tests counts
    until(lambda: warm.run(path, env=env) and not is_running(old))
    assert reason_of(warm.run(path, env=env)) == expected


def test_a_server_ends_without_an_event_when_an_installed_module_changes(warm):
    module = warm.root / "site-packages" / "rules.py"
    module.parent.mkdir()
    module.write_text("REASON = 'no'\n")
    path = warm.hook(f"import rules\n{SAYS}    return deny(rules.REASON)")
    warm.wake(path, env={"PYTHONPATH": str(module.parent)})
    old = warm.server["pid"]

    module.write_text("REASON = 'never'\n")

    until(lambda: not is_running(old))


def test_another_interpreter_has_another_worker(warm):
    path = warm.hook(SAYS + "    import sys; return deny(sys.executable)")
    other = warm.root / "other"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", other], check=True)
    python = str(other / "bin" / "python")
    site = next(other.glob("lib/python*/site-packages"))
    (site / "anyhook.pth").write_text(f"{SRC}\n")

    assert reason_of(warm.warm(path)) == sys.executable
    warm.client = [*warm.client[:-1], python]
    until(lambda: warm.run(path) and len(warm.servers) == 2)
    assert reason_of(warm.run(path)) == python


def test_a_worker_starts_anew_when_a_variable_of_the_interpreter_changes(warm):
    path = warm.hook(SAYS + "    import sys; return deny(str(sys.flags.dev_mode))")

    assert reason_of(warm.warm(path)) == "False"
    assert reason_of(warm.warm(path, env={"PYTHONDEVMODE": "1"})) == "True"


# -- other users

NOBODY = 65534
AS_NOBODY = f"""
import os, sys
os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.fixture
def shared(warm):
    """A world whose files another user can read, and the words that make a client theirs."""
    if os.geteuid() != 0:
        pytest.skip("only root can be two users")
    base = Path("/var/tmp") / f"anyhook-{os.getpid()}-{time.monotonic_ns()}"
    base.mkdir(mode=0o755)
    warm.root = base
    yield [shutil.which("python3", path="/usr/bin:/bin") or sys.executable, "-c", AS_NOBODY]
    shutil.rmtree(base)


def reachable(path: str) -> bool:
    """Tell whether other users may run a program."""
    parents = Path(path).resolve().parents
    return all(parent.stat().st_mode & 0o005 == 0o005 for parent in parents)


def python_of_all() -> str:
    """Return an interpreter that other users may run."""
    pythons = [sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"]
    found = next((p for p in pythons if os.path.exists(p) and reachable(p)), None)
    if found is None or not reachable(client.__file__):
        pytest.skip("other users cannot run a Python here")
    return found


def of_all(words: list[str], python: str) -> list[str]:
    """Return the words of a client with another interpreter."""
    return [*words[:-1], python]


PLAIN = "import os, sys\nprint(os.getuid(), sys.stdin.read(3))"


def test_another_user_reaches_neither_the_directory_nor_the_worker(warm, shared):
    python = python_of_all()
    path = warm.hook(PLAIN, header="", footer="")
    guard = warm.hook(DENIES, "guard.py")
    warm.wake(guard)
    base = client.address(python, str(path), warm.env)
    before, own = warm.served, warm.server["address"]
    os.rename(own + ".sock", base + ".sock")  # where theirs would look for it
    theirs = Warm(warm.root, [*shared, *of_all(warm.client, python)])
    theirs.env["ANYHOOK_RUNTIME_DIR"] = str(warm.runtime)

    assert theirs.run(path, payload=b"abc", cwd="/") == (0, f"{NOBODY} abc\n", "")
    os.rename(base + ".sock", own + ".sock")
    assert warm.served == before
    assert reason_of(warm.warm(guard)) == "no"
    theirs.close()


def test_a_runtime_directory_that_cannot_be_written_runs_hooks_cold(warm, shared):
    path = warm.hook(PLAIN, header="", footer="")
    warm.client = [*shared, *of_all(warm.client, python_of_all())]
    os.chown(warm.runtime, NOBODY, NOBODY)
    warm.runtime.chmod(0o500)

    for _ in range(2):
        assert warm.run(path, payload=b"abc", cwd="/") == (0, f"{NOBODY} abc\n", "")

    assert not list(warm.runtime.iterdir())
    os.chown(warm.runtime, 0, 0)
    warm.runtime.chmod(0o700)


def test_a_worker_refuses_another_user_who_got_to_its_socket(warm):
    if os.geteuid() != 0:
        pytest.skip("only root can be two users")
    warm.wake(warm.hook(DENIES))
    address = warm.server["address"] + ".sock"
    warm.runtime.chmod(0o755)
    os.chmod(address, 0o777)
    asks = (
        "import os, socket, sys\n"
        f"os.setuid({NOBODY})\n"
        "link = socket.socket(socket.AF_UNIX)\n"
        f"link.connect({address!r})\n"
        f"link.settimeout(10)\n"
        "try: link.send(b'AHK2\\x01\\0\\0\\0S')\n"
        "except BrokenPipeError: sys.exit(0)\n"
        "try: sys.exit(len(link.recv(100)))\n"
        "except ConnectionResetError: sys.exit(0)\n"
    )
    done = subprocess.run([sys.executable, "-c", asks], check=False, timeout=30, cwd="/")
    warm.runtime.chmod(0o700)

    assert done.returncode == 0

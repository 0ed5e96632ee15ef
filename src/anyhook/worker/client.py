"""The client of the workers that needs no compiler: run a hook file warm, or else cold.

python -IS client.py PYTHON HOOK.py [ARGUMENT ...]

It does what the native client (`client.c`) does, byte for byte: it reads the event, hands it to
the worker of that interpreter, prints the answer and exits with the code. Whatever keeps the worker
from serving ends in `PYTHON HOOK.py ARGUMENT ...` itself, with the same event on standard input.

It must not import anything of the package: an agent waits for it on every event. What it knows of
addresses and frames is what the worker and the engine use too.
"""

from __future__ import annotations

import os
import sys
from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    from collections.abc import Mapping, Sequence
    from typing import NoReturn

MAGIC = b"AHK1"
"""What each frame begins with; another protocol has another one, and another address."""
HEAD = len(MAGIC) + 4
RUN, LEASE, STATUS, STOP = b"R", b"L", b"S", b"Q"
DONE, COLD, TAKEN, TOLD = b"D", b"C", b"A", b"T"
REPLY = 11
"""Bytes of a reply in front of its texts: kind, two codes, and two lengths."""
LONGEST_FRAME = 64 * 1024 * 1024
PIPE = 4096
"""Bytes that every pipe takes without a reader, also that of a user who has many."""
WATCHED = ("PYTHON", "LD_", "DYLD_", "LC_", "MALLOC_", "__PYVENV")
"""Beginnings of the variables that an interpreter reads when it starts: another value, another
worker."""
WATCHED_WHOLE = ("HOME", "LANG", "LANGUAGE", "TZ")
DIRECTORY = "ANYHOOK_RUNTIME_DIR"
SWITCH = "ANYHOOK_WORKER"
"""`off` runs every hook cold."""
WORKER = "from anyhook.worker.service import main; main()"
AGAIN = 10
"""Seconds until a worker that did not come up is tried again."""
PATIENCE = 1.0
"""Seconds in which a worker that lives takes a request."""
QUEUED = 3.0
"""Seconds in which a worker gives an event to a process, or sends it away."""
CHECK = 1.0
"""Seconds between two looks at the process that runs a hook."""
PART_OF_TIMEOUT = 0.95
"""Part of the agent's time that is waited; the rest is for a cold hook, which answers at once."""
LONGEST_WAIT = 604800.0
"""Seconds; no hook may take longer."""
MOST_PROMISES = 16
"""How often a worker may promise to see to one event."""
ELAPSED = "ANYHOOK_ELAPSED"
"""Variable that reports to a cold hook how many seconds of its time have passed."""
NOTICEABLE = 0.05
"""Seconds that a cold hook has to be given less."""
MOST = 8
"""Workers of one runtime directory."""
SOCKET, LOCK = ".sock", ".lock"
FAILED = 1
"""The exit code that blocks nothing in any agent."""
NOT_FOUND = 127
USAGE = 64
BUG = 70


class WorkerUnavailable(Exception):  # noqa: N818 - not an error: the hook runs cold
    """The worker cannot serve; its text says why."""


# -- where a worker listens


def runtime_directory(environ: Mapping[str, str]) -> str:
    """Return the user's directory of sockets; it may not exist yet.

    Raises:
        Unavailable: If the one that is named is no absolute path.
    """
    given = environ.get(DIRECTORY)
    if given:
        if not given.startswith("/"):
            raise WorkerUnavailable(f"{DIRECTORY} must be an absolute path, not {given!r}")
        return given.rstrip("/") or "/"
    uid = os.getuid()
    run = f"/run/user/{uid}"
    try:
        if os.stat(run).st_uid == uid:
            return f"{run}/anyhook"
    except OSError:
        pass
    return f"/tmp/anyhook-{uid}"  # noqa: S108 - see check_private


def check_private(directory: str) -> None:
    """Refuse a directory that anybody else could have put things into.

    Raises:
        Unavailable: If it is not the user's own, or open to others.
    """
    found = os.lstat(directory)
    if (found.st_mode & 0o170000) != 0o040000 or found.st_uid != os.getuid():
        raise WorkerUnavailable(f"{directory} is not your own directory")
    if found.st_mode & 0o077:
        raise WorkerUnavailable(f"{directory} is open to others; it must have mode 0700")


def watched(environ: Mapping[str, str]) -> list[bytes]:
    """List the variables that belong to the identity of a worker, as `NAME=value`, sorted."""
    found = [
        os.fsencode(f"{name}={value}")
        for name, value in environ.items()
        if name.startswith(WATCHED) or name in WATCHED_WHOLE
    ]
    return sorted(found)


def address(python: str, environ: Mapping[str, str]) -> str:
    """Return the path of a worker's socket, without its suffix.

    Args:
        python: The interpreter, as an absolute path.
        environ: The environment that hooks are started with.
    """
    number = 0xCBF29CE484222325  # FNV-1a, 64 bits: a name, not a secret
    for part in (MAGIC, os.fsencode(python), _view(), *watched(environ)):
        for byte in part + b"\0":
            number = ((number ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{runtime_directory(environ)}/{number:016x}"


def _view() -> bytes:
    """Name what this process sees of the file system: a path means another file elsewhere."""
    try:
        mounts = os.readlink("/proc/self/ns/mnt")
    except OSError:
        mounts = ""
    root = os.stat("/")
    return os.fsencode(f"{mounts} {root.st_dev} {root.st_ino}")


def which(program: str, environ: Mapping[str, str]) -> str:
    """Return the absolute path of a program, as `execvp` would find it."""
    if "/" in program:
        return program if program.startswith("/") else f"{os.getcwd()}/{program}"
    for directory in (environ.get("PATH") or "/usr/bin:/bin").split(":"):
        found = f"{directory or os.getcwd()}/{program}"
        if os.access(found, os.X_OK) and not os.path.isdir(found):
            return found
    return program


# -- frames


def pack_run(
    kind: bytes,
    cwd: str,
    argv: Sequence[str],
    environ: Mapping[str, str],
    *,
    mask: int,
    payload: bytes,
) -> bytes:
    """Write the request to run a hook file.

    Args:
        kind: `RUN`, or `LEASE` to be given a process for many events.
        cwd: Working directory.
        argv: The hook file and its arguments.
        environ: The whole environment.
        mask: Of the files that it creates.
        payload: The event.
    """
    env = b"".join(os.fsencode(f"{name}={value}") + b"\0" for name, value in environ.items())
    words = b"".join(os.fsencode(word) + b"\0" for word in (cwd, *argv))
    body = b"".join(
        (
            kind,
            mask.to_bytes(4, "little"),
            len(words).to_bytes(4, "little"),
            len(env).to_bytes(4, "little"),
            words,
            env,
            payload,
        )
    )
    return MAGIC + len(body).to_bytes(4, "little") + body


def read_frame(link: _socket.socket) -> bytes:
    """Read the body of one frame.

    Raises:
        Unavailable: If the other side went away in the middle of it, or it has a wrong length.
    """
    head = _read_exactly(link, HEAD)
    size = int.from_bytes(head[len(MAGIC) :], "little")
    if head[: len(MAGIC)] != MAGIC or not 0 < size <= LONGEST_FRAME:
        raise WorkerUnavailable("the worker speaks another protocol")
    return _read_exactly(link, size)


def _read_exactly(link: _socket.socket, size: int) -> bytes:
    chunks = []
    while size:
        chunk = link.recv(min(size, 1 << 20))
        if not chunk:
            raise WorkerUnavailable("the worker went away")
        chunks.append(chunk)
        size -= len(chunk)
    return b"".join(chunks)


def connect(path: str) -> _socket.socket:
    """Connect to a worker.

    Raises:
        Unavailable: If another user listens there.
        OSError: If nobody does.
    """
    import _socket

    link = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    link.settimeout(PATIENCE)
    try:
        link.connect(path)
    except OSError:
        link.close()
        raise
    if peer_user(link) != os.getuid():
        link.close()
        raise WorkerUnavailable("another user listens there")
    return link


def peer_user(link: _socket.socket) -> int:
    """Return the user at the other end of a socket; -1 if the system does not tell."""
    import _socket

    if hasattr(_socket, "SO_PEERCRED"):
        data = link.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
        return int.from_bytes(data[4:8], sys.byteorder)
    if sys.platform == "darwin":
        local_peercred, size = 1, 76
        data = link.getsockopt(0, local_peercred, size)
        return int.from_bytes(data[4:8], sys.byteorder)
    return -1


# -- the program


def main(argv: Sequence[str]) -> NoReturn:
    """Run a hook file, warm if possible.

    Args:
        argv: `PYTHON HOOK.py [ARGUMENT ...]`.
    """
    if len(argv) < 2:
        os.write(2, b"usage: anyhook-run PYTHON HOOK.py [ARGUMENT ...]\n")
        os._exit(USAGE)
    _end_by_interrupts()
    environ = os.environ
    environ.pop(ELAPSED, None)
    is_option = argv[1].startswith("-")
    if is_option:
        _check_option(argv[1:])
    if environ.get(SWITCH) == "off" or is_option or not _streams_are_plain():
        _cold(argv, None)
    payload = _read_all(0)
    started = monotonic()
    give_up = started + timeout_of(argv[2:]) * PART_OF_TIMEOUT
    try:
        path = address(which(argv[0], environ), environ)
        is_there = os.path.lexists(os.path.dirname(path))
    except (WorkerUnavailable, OSError, UnicodeError):
        _cold(argv, payload)
    try:
        if is_there:
            check_private(os.path.dirname(path))
        reply = _ask(path, argv[1:], payload, give_up)
    except (FileNotFoundError, ConnectionRefusedError):
        _start(argv[0], path)
        _cold(argv, payload)
    except (WorkerUnavailable, OSError, UnicodeError):
        _note_elapsed(monotonic() - started)
        _cold(argv, payload)
    middle = REPLY + int.from_bytes(reply[3:7], "little")
    end = middle + int.from_bytes(reply[7:REPLY], "little")
    if reply[:1] != DONE or len(reply) < REPLY or end > len(reply):
        _note_elapsed(monotonic() - started)
        _cold(argv, payload)
    _write_quietly(reply[REPLY:middle])
    try:
        _write_all(1, reply[end:])
    except OSError:  # nobody reads the answer: the exit code is the last way to deny
        _write_quietly(reply[middle:end])
        os._exit(reply[2])
    os._exit(reply[1])


def timeout_of(words: Sequence[str]) -> float:
    """Return the seconds that the agent waits, if the command names them."""
    timeout = LONGEST_WAIT
    for at, word in enumerate(words):
        text = word[len("--timeout=") :] if word.startswith("--timeout=") else None
        if word == "--timeout" and at + 1 < len(words):
            text = words[at + 1]
        try:
            value = float(text) if text is not None else 0.0
        except ValueError:
            continue
        if 0 < value < LONGEST_WAIT:
            timeout = value
    return timeout


def _note_elapsed(seconds: float) -> None:
    """Give a cold hook the rest of its time, and not all of it again."""
    if seconds >= NOTICEABLE:
        os.environ[ELAPSED] = f"{seconds:.3f}"


def _ask(path: str, words: Sequence[str], payload: bytes, give_up: float) -> bytes:
    mask = os.umask(0o077)
    os.umask(mask)
    cwd = os.getcwd()
    frame = pack_run(RUN, cwd, words, os.environ, mask=mask, payload=payload)
    if len(frame) > LONGEST_FRAME:
        raise WorkerUnavailable("the event is too large")
    link = connect(path + SOCKET)
    try:
        link.sendall(frame)
        return _read_reply(link, give_up)
    finally:
        link.close()


def _read_reply(link: _socket.socket, give_up: float) -> bytes:
    reply = read_frame(link)
    promises = 0
    while reply[:1] == TAKEN and promises < MOST_PROMISES:
        promises += 1
        executor = int.from_bytes(reply[1:], "little") if len(reply) == 5 else 0
        if executor:
            _wait_for(link, executor, give_up)
        link.settimeout(QUEUED)
        reply = read_frame(link)
    return reply


def _wait_for(link: _socket.socket, executor: int, give_up: float) -> None:
    """Wait for the process that runs the hook; it may take as long as the agent waits.

    Raises:
        Unavailable: If the process is stopped, or the time is over.
    """
    import select

    poll = select.poll()
    poll.register(link, select.POLLIN)
    times = 0
    while not poll.poll(max(0.0, min(CHECK, give_up - monotonic())) * 1000):
        times = times + 1 if _is_stopped(executor) else 0
        if times == 2:
            raise WorkerUnavailable("the process that runs the hook is stopped")
        if monotonic() >= give_up:
            raise WorkerUnavailable("the hook takes longer than its agent waits")


def _is_stopped(pid: int) -> bool:
    """Return whether a process is stopped or a zombie; one that cannot be seen is neither."""
    try:
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.read(fd, 512).rpartition(b")")[2][:2] in (b" T", b" Z", b" X")
    except OSError:
        return False
    finally:
        os.close(fd)


def _end_by_interrupts() -> None:
    """Let SIGINT end this process without a traceback."""
    import _signal  # type: ignore[import-not-found] # `signal` makes an enum of every number

    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)


def _streams_are_plain() -> bool:
    try:
        for fd in (1, 2):
            os.fstat(fd)
        return not os.isatty(0)
    except OSError:
        return False


def _read_all(fd: int) -> bytes:
    chunks = []
    try:
        while chunk := os.read(fd, 1 << 16):
            chunks.append(chunk)
    except OSError:
        return b"".join(chunks)
    return b"".join(chunks)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _write_quietly(data: bytes) -> None:
    try:
        _write_all(2, data)
    except OSError:
        return


def _check_option(words: Sequence[str]) -> None:
    """Exit for options other than `-c` and `-m`: the interpreter exits with 2 for unknown ones."""
    if words[0] in ("-c", "-m") and len(words) > 1:
        return
    _fail(f"{words[0]}: the hook file comes first, its options follow it", USAGE)


def _check_hook_file(path: str) -> None:
    """Exit if the file cannot be opened: the interpreter exits with 2, which means a denial."""
    import errno

    try:
        is_socket = os.stat(path).st_mode & 0o170000 == 0o140000
        if not is_socket and os.access(path, os.R_OK):
            return
        reason = os.strerror(errno.ENXIO if is_socket else errno.EACCES)
    except (FileNotFoundError, NotADirectoryError):
        _fail(f"hook file not found: {path}", FAILED)
    except OSError as error:
        reason = error.strerror or ""
    _fail(f"hook file cannot be read: {path}: {reason}", FAILED)


def _fail(message: str, code: int) -> NoReturn:
    _write_quietly(os.fsencode(f"anyhook-run: {message}\n"))
    os._exit(code)


def _cold(argv: Sequence[str], payload: bytes | None) -> NoReturn:
    """Become the hook itself, with the event on standard input."""
    if not argv[1].startswith("-"):
        _check_hook_file(argv[1])
    if payload is not None:
        try:
            _give(payload)
        except OSError as error:  # the hook must not run on half an event
            _fail(f"the event cannot be handed on: {error.strerror}", BUG)
    try:
        os.execvp(argv[0], list(argv))
    except OSError as error:
        _fail(f"{argv[0]}: {error.strerror}", NOT_FOUND)


def _give(payload: bytes) -> None:
    if len(payload) <= PIPE:
        read_end, write_end = os.pipe()
        _write_all(write_end, payload)
        os.close(write_end)
    else:
        read_end = _file_of(payload)
    if read_end != 0:
        os.dup2(read_end, 0)
        os.close(read_end)
    else:
        os.set_inheritable(0, True)


def _file_of(payload: bytes) -> int:
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("anyhook-event")
    else:
        from tempfile import TemporaryFile

        fd = os.dup(TemporaryFile().fileno())
    _write_all(fd, payload)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _start(python: str, path: str) -> None:
    """Start a worker, unless somebody else is at it: this call does not wait for it."""
    try:
        lock = take_lock(path)
    except (OSError, WorkerUnavailable):
        return
    if lock is None:
        return
    try:
        child = os.fork()
    except OSError:
        return
    if child == 0:
        try:
            os.setsid()
            if os.fork() == 0:
                become_worker(python, path, lock)
        finally:
            os._exit(0)
    try:
        os.waitpid(child, 0)
    except OSError:  # an agent that does not wait for children passes that on
        pass
    os.close(lock)


def take_lock(path: str) -> int | None:
    """Become the one who may start a worker.

    Args:
        path: Its address.

    Returns:
        A descriptor that holds the lock, which the worker inherits; `None` if a worker is running
        or coming up, or came up a moment ago and did not stay, or there are too many others.

    Raises:
        OSError: If the directory cannot be written.
        Unavailable: If it is not private.
    """
    import fcntl
    import time

    directory = os.path.dirname(path)
    try:
        os.mkdir(directory, 0o700)
    except FileExistsError:
        pass
    check_private(directory)
    if not has_room(directory, path):
        return None
    lock = os.open(path + LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        found = os.fstat(lock)
        recent = found.st_size and 0 <= time.time() - found.st_mtime < AGAIN
        if not recent:
            os.pwrite(lock, b"s", 0)
            return lock
    except OSError:
        os.close(lock)
        return None
    os.close(lock)
    return None


def has_room(directory: str, path: str) -> bool:
    """Tell whether one more worker may be started; takes away what dead ones left.

    An agent that starts each hook in a sandbox of its own would start a worker for each.

    Args:
        directory: Of the sockets.
        path: The address of the new one.
    """
    import fcntl

    running = 0
    for name in os.listdir(directory):
        other = f"{directory}/{name[: -len(SOCKET)]}"
        if not name.endswith(SOCKET) or other == path:
            continue
        try:
            lock = os.open(other + LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(other + SOCKET)
        except OSError:
            running += 1
        os.close(lock)
    return running < MOST


def become_worker(python: str, path: str, lock: int) -> NoReturn:
    """Turn a fresh process into the worker of an address, with nothing of the caller's in it."""
    try:
        null = os.open(os.devnull, os.O_RDWR)
        kept = os.dup(lock)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        os.dup2(kept, 3)
        os.closerange(4, 4096)
        os.chdir("/")
        environ = dict(pair.split(b"=", 1) for pair in watched(os.environ))
        program = which(python, os.environ)
        os.execve(program, [program, "-c", WORKER, path], environ)
    finally:
        os._exit(NOT_FOUND)


if __name__ == "__main__":
    main(sys.argv[1:])

"""The client of the workers that needs no compiler: run a hook file warm, or else cold.

    python -IS client.py PYTHON HOOK.py [ARGUMENT ...]

It does what the native client (`client.c`) does, byte for byte: it reads the event, sends it to the
server of that hook file, prints the reply and exits with its code. If no server answers, it becomes
`PYTHON HOOK.py ARGUMENT ...` with the same event on standard input.

It is one module because it runs on every event without importing anything of the package. Server
and engine import the addresses and frames from here.
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

MAGIC = b"AHK2"
"""Start of every frame. A change of the protocol changes it, and with it every address."""
HEAD = len(MAGIC) + 4
RUN, STATUS, STOP = b"R", b"S", b"Q"
DONE, COLD, LATE, ACCEPTED, STATUS_REPLY = b"D", b"C", b"L", b"A", b"T"
REPLY = 11
"""Bytes of a reply before its texts: kind, two exit codes, and two lengths."""
MAX_FRAME = 64 * 1024 * 1024
PIPE_ROOM = 4096
"""Bytes that every pipe takes without a reader, also for a user who has many pipes."""
INTERPRETER_PREFIXES = ("PYTHON", "LD_", "DYLD_", "LC_", "MALLOC_", "__PYVENV")
"""Prefixes of the variables that an interpreter reads when it starts."""
INTERPRETER_VARIABLES = ("HOME", "LANG", "LANGUAGE", "TZ")
PROJECT_SUFFIX = "_PROJECT_DIR"
"""Suffix of the variables in which agents name the project: projects share no server."""
RUNTIME_DIR_ENV = "ANYHOOK_RUNTIME_DIR"
WORKER_ENV = "ANYHOOK_WORKER"
"""`off` runs every hook cold."""
SERVER_CODE = "from anyhook.worker.loader import main; main()"
RETRY_DELAY = 10
"""Seconds until a server that did not start is started again."""
ACCEPT_TIMEOUT = 1.0
"""Seconds in which a server accepts an event."""
REPLY_TIMEOUT = 3.0
"""Seconds in which a reply is read completely once its first byte has arrived."""
CHECK_INTERVAL = 1.0
"""Seconds between two checks of the process that runs a hook."""
TIMEOUT_SHARE = 0.95
"""Share of the agent's timeout that the client waits; a cold hook needs the rest to answer."""
MAX_TIMEOUT = 604800.0
"""Seconds; no hook may take longer."""
MAX_ACCEPTED = 16
"""`ACCEPTED` frames that a client reads for one event."""
ELAPSED_ENV = "ANYHOOK_ELAPSED"
"""Reports to a cold hook how many seconds of its timeout have passed."""
MIN_ELAPSED = 0.05
"""Seconds that are worth reporting."""
SOCKET, LOCK = ".sock", ".lock"
FAILED = 1
"""The exit code that blocks nothing in any agent."""
NOT_FOUND = 127
USAGE = 64
BUG = 70


class WorkerUnavailable(Exception):  # noqa: N818 - not an error: the hook runs cold
    """No server can answer; the message gives the reason."""


# -- addresses


def runtime_directory(environ: Mapping[str, str]) -> str:
    """Return the user's directory of sockets; it may not exist yet.

    Raises:
        WorkerUnavailable: If `ANYHOOK_RUNTIME_DIR` is not an absolute path.
    """
    configured = environ.get(RUNTIME_DIR_ENV)
    if configured:
        if not configured.startswith("/"):
            message = f"{RUNTIME_DIR_ENV} must be an absolute path, not {configured!r}"
            raise WorkerUnavailable(message)
        return configured.rstrip("/") or "/"
    uid = os.getuid()
    run = f"/run/user/{uid}"
    try:
        if os.stat(run).st_uid == uid:
            return f"{run}/anyhook"
    except OSError:
        pass
    return f"/tmp/anyhook-{uid}"  # noqa: S108 - see check_private


def check_private(directory: str) -> None:
    """Refuse a directory in which another user could have put a socket.

    Raises:
        WorkerUnavailable: If it belongs to another user, is a link, or is open to others.
    """
    status = os.lstat(directory)
    if (status.st_mode & 0o170000) != 0o040000 or status.st_uid != os.getuid():
        raise WorkerUnavailable(f"{directory} is not your own directory")
    if status.st_mode & 0o077:
        raise WorkerUnavailable(f"{directory} is open to others; it must have mode 0700")


def watched(environ: Mapping[str, str]) -> list[bytes]:
    """List the variables that are part of a server's identity, as `NAME=value`, sorted."""
    entries = [
        os.fsencode(f"{name}={value}")
        for name, value in environ.items()
        if name.startswith(INTERPRETER_PREFIXES)
        or name in INTERPRETER_VARIABLES
        or name.endswith(PROJECT_SUFFIX)
    ]
    return sorted(entries)


def address(python: str, hook_file: str, environ: Mapping[str, str]) -> str:
    """Return the path of a server's socket, without its suffix.

    Args:
        python: The interpreter, as an absolute path.
        hook_file: Absolute path of the hook file.
        environ: The environment in which the hook is started.
    """
    digest = 0xCBF29CE484222325  # FNV-1a, 64 bits: a name, not a secret
    paths = (os.fsencode(python), os.fsencode(hook_file))
    for part in (MAGIC, *paths, _filesystem_view(), *watched(environ)):
        for byte in part + b"\0":
            digest = ((digest ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{runtime_directory(environ)}/{digest:016x}"


def _filesystem_view() -> bytes:
    """Identify the mounts of this process: elsewhere, a path names another file."""
    try:
        mounts = os.readlink("/proc/self/ns/mnt")
    except OSError:
        mounts = ""
    root = os.stat("/")
    return os.fsencode(f"{mounts} {root.st_dev} {root.st_ino}")


def which(program: str, environ: Mapping[str, str]) -> str:
    """Return the absolute path of a program, as `execvp` would find it."""
    if "/" in program:
        return absolute(program, os.getcwd())
    for directory in (environ.get("PATH") or "/usr/bin:/bin").split(":"):
        path = f"{directory or os.getcwd()}/{program}"
        if os.access(path, os.X_OK) and not os.path.isdir(path):
            return path
    return program


def absolute(path: str, cwd: str) -> str:
    """Return a path as the interpreter makes it absolute: joined, not normalized."""
    return path if path.startswith("/") else f"{cwd}/{path}"


# -- frames


def pack_run(
    cwd: str,
    argv: Sequence[str],
    environ: Mapping[str, str],
    *,
    umask: int,
    ignored_signals: int,
    payload: bytes,
) -> bytes:
    """Return the frame that asks to run a hook file.

    Args:
        cwd: Working directory.
        argv: The hook file and its arguments.
        environ: The whole environment.
        umask: Mode bits that are removed from files that the hook creates.
        ignored_signals: The signals that the hook ignores; see the function of that name.
        payload: The event.
    """
    env = b"".join(os.fsencode(f"{name}={value}") + b"\0" for name, value in environ.items())
    words = b"".join(os.fsencode(word) + b"\0" for word in (cwd, *argv))
    body = b"".join(
        (
            RUN,
            umask.to_bytes(4, "little"),
            ignored_signals.to_bytes(8, "little"),
            len(words).to_bytes(4, "little"),
            len(env).to_bytes(4, "little"),
            words,
            env,
            payload,
        )
    )
    return MAGIC + len(body).to_bytes(4, "little") + body


def read_frame(link: _socket.socket, timeout: float) -> bytes:
    """Return the body of the next frame.

    Args:
        link: The connection.
        timeout: Seconds for the whole frame.

    Raises:
        WorkerUnavailable: If the connection ends within it, or its length is wrong.
        OSError: If the time ends within it.
    """
    deadline = monotonic() + timeout
    head = _read_exactly(link, HEAD, deadline)
    size = int.from_bytes(head[len(MAGIC) :], "little")
    if head[: len(MAGIC)] != MAGIC or not 0 < size <= MAX_FRAME:
        raise WorkerUnavailable("the server speaks another protocol")
    return _read_exactly(link, size, deadline)


def _read_exactly(link: _socket.socket, size: int, deadline: float) -> bytes:
    chunks = []
    while size:
        link.settimeout(max(0.0, deadline - monotonic()))  # with 0, what has arrived is read
        chunk = link.recv(min(size, 1 << 20))
        if not chunk:
            raise WorkerUnavailable("the server closed the connection")
        chunks.append(chunk)
        size -= len(chunk)
    return b"".join(chunks)


def connect(path: str) -> _socket.socket:
    """Connect to a server.

    Raises:
        WorkerUnavailable: If another user listens there.
        OSError: If no process listens there.
    """
    import _socket

    link = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    link.settimeout(ACCEPT_TIMEOUT)
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
    """Return the user at the other end of a socket; -1 if the system does not report it."""
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
    environ.pop(ELAPSED_ENV, None)
    is_option = argv[1].startswith("-")
    if is_option:
        _check_option(argv[1:])
    if environ.get(WORKER_ENV) == "off" or is_option or not _has_plain_streams():
        _run_cold(argv, None)
    payload = _read_all(0)
    started = monotonic()
    give_up = started + timeout_of(argv[2:]) * TIMEOUT_SHARE
    try:
        cwd = os.getcwd()
        path = address(which(argv[0], environ), absolute(argv[1], cwd), environ)
        has_directory = os.path.lexists(os.path.dirname(path))
    except (WorkerUnavailable, OSError, UnicodeError):
        _run_cold(argv, payload)
    try:
        if has_directory:
            check_private(os.path.dirname(path))
        reply = _ask(path, cwd, argv[1:], payload, give_up)
    except (FileNotFoundError, ConnectionRefusedError):
        _start_server(argv, path, cwd)
        _run_cold(argv, payload)
    except (WorkerUnavailable, OSError, UnicodeError):
        _note_elapsed(monotonic() - started)
        _run_cold(argv, payload)
    if reply[:1] == LATE:
        _note_elapsed(MAX_TIMEOUT)
        _run_cold(argv, payload)
    middle = REPLY + int.from_bytes(reply[3:7], "little")
    end = middle + int.from_bytes(reply[7:REPLY], "little")
    if reply[:1] != DONE or len(reply) < REPLY or end > len(reply):
        _note_elapsed(monotonic() - started)
        _run_cold(argv, payload)
    _write_quietly(reply[REPLY:middle])
    try:
        _write_all(1, reply[end:])
    except OSError:  # the agent does not read: the exit code is the last way to deny
        _write_quietly(reply[middle:end])
        os._exit(reply[2])
    os._exit(reply[1])


def timeout_of(words: Sequence[str]) -> float:
    """Return the agent's timeout in seconds, if the command names it."""
    timeout = MAX_TIMEOUT
    for position, word in enumerate(words):
        text = word[len("--timeout=") :] if word.startswith("--timeout=") else None
        if word == "--timeout" and position + 1 < len(words):
            text = words[position + 1]
        try:
            value = float(text) if text is not None else 0.0
        except ValueError:
            continue
        if 0 < value < MAX_TIMEOUT:
            timeout = value
    return timeout


def _note_elapsed(seconds: float) -> None:
    """Give a cold hook the rest of its timeout instead of all of it again."""
    if seconds >= MIN_ELAPSED:
        os.environ[ELAPSED_ENV] = f"{seconds:.3f}"


def current_umask() -> int:
    """Return the umask of this process, which can only be read by setting it."""
    umask = os.umask(0o077)
    os.umask(umask)
    return umask


def ignored_signals() -> int:
    """Return the signals that this process ignores, and with it the programs that it starts.

    Returns:
        A set of bits; the lowest one is for signal 1.
    """
    import _signal  # type: ignore[import-not-found] # `signal` makes an enum of every number

    bits = 0
    for number in _signal.valid_signals():
        if _signal.getsignal(number) == _signal.SIG_IGN:
            bits |= 1 << (number - 1)
    return bits


def _ask(path: str, cwd: str, words: Sequence[str], payload: bytes, give_up: float) -> bytes:
    frame = pack_run(
        cwd,
        words,
        os.environ,
        umask=current_umask(),
        ignored_signals=ignored_signals(),
        payload=payload,
    )
    if len(frame) > MAX_FRAME:
        raise WorkerUnavailable("the event is too large")
    link = connect(path + SOCKET)
    try:
        link.sendall(frame)
        return _read_reply(link, give_up)
    finally:
        link.close()


def _read_reply(link: _socket.socket, give_up: float) -> bytes:
    reply = read_frame(link, ACCEPT_TIMEOUT)
    for _ in range(MAX_ACCEPTED):
        if reply[:1] != ACCEPTED:
            break
        pid = int.from_bytes(reply[1:], "little") if len(reply) == 5 else 0
        if pid:
            _wait_for_reply(link, pid, give_up)
        reply = read_frame(link, REPLY_TIMEOUT)
    return reply


def _wait_for_reply(link: _socket.socket, pid: int, give_up: float) -> None:
    """Wait until the process that runs the hook replies.

    Raises:
        WorkerUnavailable: If the process is stopped, or the time is over.
    """
    import select

    poll = select.poll()
    poll.register(link, select.POLLIN)
    checks_failed = 0
    while not poll.poll(max(0.0, min(CHECK_INTERVAL, give_up - monotonic())) * 1000):
        checks_failed = checks_failed + 1 if _is_stopped(pid) else 0
        if checks_failed == 2:
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
    import _signal

    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)


def _has_plain_streams() -> bool:
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


def _run_cold(argv: Sequence[str], payload: bytes | None) -> NoReturn:
    """Become the hook itself, with the event on standard input."""
    if not argv[1].startswith("-"):
        _check_hook_file(argv[1])
    if payload is not None:
        try:
            _put_on_stdin(payload)
        except OSError as error:  # the hook must not run on half an event
            _fail(f"the event cannot be handed on: {error.strerror}", BUG)
    try:
        os.execvp(argv[0], list(argv))
    except OSError as error:
        _fail(f"{argv[0]}: {error.strerror}", NOT_FOUND)


def _put_on_stdin(data: bytes) -> None:
    if len(data) <= PIPE_ROOM:
        read_end, write_end = os.pipe()
        _write_all(write_end, data)
        os.close(write_end)
    else:
        try:
            read_end = _file_of(data)
        except OSError:  # files may have no room: `ulimit -f`
            read_end = _fed_pipe(data)
    if read_end != 0:
        os.dup2(read_end, 0)
        os.close(read_end)
    else:
        os.set_inheritable(0, True)


def _fed_pipe(data: bytes) -> int:
    """Return a pipe that a process of its own fills."""
    read_end, write_end = os.pipe()
    if os.fork() == 0:
        try:
            os.close(read_end)
            _write_all(write_end, data)
        finally:
            os._exit(0)
    os.close(write_end)
    return read_end


def _file_of(data: bytes) -> int:
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("anyhook-event")
    else:
        from tempfile import TemporaryFile

        fd = os.dup(TemporaryFile().fileno())
    _write_all(fd, data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


# -- starting a server


def _start_server(argv: Sequence[str], path: str, cwd: str) -> None:
    """Start the server of a hook file in the background, unless another client is starting it."""
    try:
        lock = take_lock(path)
        if lock is None:
            return
        child = os.fork()
    except (OSError, WorkerUnavailable):
        return
    if child == 0:
        try:
            os.setsid()
            if os.fork() == 0:
                _become_server(argv, path, cwd, lock)
        finally:
            os._exit(0)
    try:
        os.waitpid(child, 0)
    except OSError:  # an agent that ignores SIGCHLD passes that on
        pass
    os.close(lock)


def take_lock(path: str) -> int | None:
    """Take the lock that allows to start the server of an address.

    Args:
        path: The address.

    Returns:
        A descriptor that holds the lock, which the server inherits; `None` if a server is running
        or starting, or failed to start a moment ago.

    Raises:
        OSError: If the directory cannot be written.
        WorkerUnavailable: If it is not private.
    """
    import fcntl
    import time

    directory = os.path.dirname(path)
    try:
        os.mkdir(directory, 0o700)
    except FileExistsError:
        pass
    check_private(directory)
    lock = os.open(path + LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        status = os.fstat(lock)
        has_failed = status.st_size and 0 <= time.time() - status.st_mtime < RETRY_DELAY
        if not has_failed:
            os.pwrite(lock, b"s", 0)
            return lock
    except OSError:
        os.close(lock)
        return None
    os.close(lock)
    return None


def _become_server(argv: Sequence[str], path: str, cwd: str, lock: int) -> NoReturn:
    """Turn a fresh process into the server of an address.

    The environment with which it loads the hook file comes on standard input, together with
    directory, arguments and umask: a process that stays must not show it in `/proc`.
    """
    try:
        request = pack_run(
            cwd, argv[1:], os.environ, umask=current_umask(), ignored_signals=0, payload=b""
        )
        null = os.open(os.devnull, os.O_RDWR)
        kept = os.dup(lock)
        os.dup2(_file_of(request), 0)
        for fd in (1, 2):
            os.dup2(null, fd)
        os.dup2(kept, 3)
        os.closerange(4, 4096)
        os.chdir("/")
        environ = dict(pair.split(b"=", 1) for pair in watched(os.environ))
        program = which(argv[0], os.environ)
        os.execve(program, [program, "-c", SERVER_CODE, path], environ)
    finally:
        os._exit(NOT_FOUND)


if __name__ == "__main__":
    main(sys.argv[1:])

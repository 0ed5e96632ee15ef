"""What clients and servers share: addresses, frames, and the lock of a server.

The client that runs on every event is the native program (`client.c`), which computes the same
addresses and writes the same frames. An engine asks servers itself (`anyhook.handlers.warm`).
"""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from time import monotonic

from anyhook._compat import signals
from anyhook.processes.programs import find_program

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping, Sequence

MAGIC = b"AHK2"
"""Start of every frame. A change of the protocol changes it, and with it every address."""
HEAD = len(MAGIC) + 4
RUN, STATUS, STOP = b"R", b"S", b"Q"
DONE, COLD, LATE, ACCEPTED, STATUS_REPLY = b"D", b"C", b"L", b"A", b"T"
REPLY = 11
"""Bytes of a reply before its texts: kind, two exit codes, and two lengths."""
MAX_FRAME = 64 * 1024 * 1024
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
SOCKET, LOCK = ".sock", ".lock"


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
    paths = (os.fsencode(python), os.fsencode(hook_file))
    # Under other mounts, or another root, a path names another file.
    try:
        mounts = os.readlink("/proc/self/ns/mnt")
    except OSError:
        mounts = ""
    root = os.stat("/")
    view = os.fsencode(f"{mounts} {root.st_dev} {root.st_ino}")
    parts = (MAGIC, *paths, view, *watched(environ))
    digest = _digest(b"\0".join(parts) + b"\0")
    return f"{runtime_directory(environ)}/{digest:016x}"


@lru_cache(maxsize=64)  # an engine asks for the same address on every event
def _digest(identity: bytes) -> int:
    """Return a hash that the native client computes, too: FNV-1a with 64 bits."""
    digest = 0xCBF29CE484222325
    for byte in identity:
        digest = ((digest ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return digest


def which(program: str, environ: Mapping[str, str]) -> str:
    """Return the absolute path of a program, as `execvp` would find it."""
    if "/" in program:
        return absolute(program, os.getcwd())
    return find_program(program, environ) or program


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
    # Encoded at once: an environment has some fifty variables.
    env = os.fsencode("".join([f"{name}={value}\0" for name, value in environ.items()]))
    words = os.fsencode("".join([f"{word}\0" for word in (cwd, *argv)]))
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


def read_frame(link: socket.socket, timeout: float) -> bytes:
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


def _read_exactly(link: socket.socket, size: int, deadline: float) -> bytes:
    chunks = []
    while size:
        link.settimeout(max(0.0, deadline - monotonic()))  # with 0, what has arrived is read
        chunk = link.recv(min(size, 1 << 20))
        if not chunk:
            raise WorkerUnavailable("the server closed the connection")
        chunks.append(chunk)
        size -= len(chunk)
    return b"".join(chunks)


def connect(base: str, *, timeout: float) -> socket.socket:
    """Connect to the server of an address.

    Args:
        base: The address.
        timeout: Seconds for each operation of the socket; with 0 it does not block.

    Raises:
        WorkerUnavailable: If another user listens there, or could have put the socket there.
        OSError: If no process listens there.
    """
    import socket

    check_private(os.path.dirname(base))
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    link.settimeout(timeout)
    try:
        link.connect(base + SOCKET)
    except OSError:
        link.close()
        raise
    if peer_user(link) != os.getuid():
        link.close()
        raise WorkerUnavailable("another user listens there")
    return link


def peer_user(link: socket.socket) -> int:
    """Return the user at the other end of a socket; -1 if the system does not report it."""
    import socket

    if hasattr(socket, "SO_PEERCRED"):
        data = link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        return int.from_bytes(data[4:8], sys.byteorder)
    if sys.platform == "darwin":
        local_peercred, size = 1, 76
        data = link.getsockopt(0, local_peercred, size)
        return int.from_bytes(data[4:8], sys.byteorder)
    return -1


# -- the process of a client


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
    bits = 0
    for number in signals.valid_signals():
        if signals.getsignal(number) == signals.SIG_IGN:
            bits |= 1 << (number - 1)
    return bits


# -- the lock of a server


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

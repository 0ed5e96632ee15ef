"""The frames that clients and servers exchange.

A frame is `MAGIC`, the length of its body as four bytes (little-endian), and the body, whose first
byte is its kind (`anyhook.worker.client`).
"""

from __future__ import annotations

from anyhook.model.record import Record
from anyhook.worker.client import ACCEPTED, COLD, DONE, HEAD, LATE, MAGIC, MAX_FRAME, REPLY, RUN

_FIXED = 21
"""Bytes of a request before its words: kind, umask, ignored signals, and the lengths of words and
variables."""


class FrameError(ValueError):
    """A frame that no client or server of this package sends."""


class WorkerRequest(Record):
    """A request to run a hook file.

    Attributes:
        umask: Mode bits that are removed from files that the hook creates.
        ignored_signals: The signals that the client ignores, as a set of bits; the lowest one is
            for signal 1.
        words: Working directory, hook file and arguments.
        environ: The variables; of several entries with one name, the first counts.
        payload: The event.
    """

    umask: int
    ignored_signals: int
    words: list[bytes]
    environ: dict[bytes, bytes]
    payload: bytes


class Reply(Record):
    """The result of a hook.

    Attributes:
        code: The exit code.
        out: Standard output.
        err: Standard error.
        fallback: Printed to standard error too if the agent does not read `out`.
        fallback_code: The exit code in that case.
    """

    code: int
    out: bytes = b""
    err: bytes = b""
    fallback: bytes = b""
    fallback_code: int = 1


def frame(*parts: bytes) -> bytes:
    """Return a frame whose body is made of these parts."""
    size = sum(map(len, parts))
    return b"".join((MAGIC, size.to_bytes(4, "little"), *parts))


def pack_accepted(pid: int) -> bytes:
    """Return the frame that reports which process runs the hook."""
    return frame(ACCEPTED, pid.to_bytes(4, "little"))


def pack_cold(reason: str) -> bytes:
    """Return the frame that asks the client to run the hook itself."""
    return frame(COLD, reason.encode("utf-8", "replace"))


def pack_late() -> bytes:
    """Return the frame that reports that the hook has used all of its time."""
    return frame(LATE)


def body_size(head: bytes) -> int:
    """Return the length of the body that follows the first `HEAD` bytes of a frame.

    Raises:
        FrameError: If they are not the start of a frame, or it is too long.
    """
    size = int.from_bytes(head[len(MAGIC) : HEAD], "little")
    if head[: len(MAGIC)] != MAGIC or not 0 < size <= MAX_FRAME:
        raise FrameError("this is not a frame")
    return size


def parse_request(body: bytes) -> WorkerRequest:
    """Parse the body of a request to run a hook file.

    Raises:
        FrameError: If it is not a complete one.
    """
    if len(body) < _FIXED or body[:1] != RUN:
        raise FrameError("this is not a request")
    umask, words_size, env_size = (int.from_bytes(body[i : i + 4], "little") for i in (1, 13, 17))
    ignored_signals = int.from_bytes(body[5:13], "little")
    middle, end = _FIXED + words_size, _FIXED + words_size + env_size
    words = body[_FIXED:middle].split(b"\0")
    if end > len(body) or len(words) < 3 or words.pop():
        raise FrameError("this request is truncated")
    environ: dict[bytes, bytes] = {}
    for entry in body[middle:end].split(b"\0"):
        name, separator, value = entry.partition(b"=")
        if name and separator:
            environ.setdefault(name, value)
    return WorkerRequest(
        umask=umask,
        ignored_signals=ignored_signals,
        words=words,
        environ=environ,
        payload=body[end:],
    )


def pack_reply(reply: Reply) -> bytes:
    """Return the frame of a reply: codes, the lengths of `err` and `fallback`, these, and `out`."""
    codes = bytes((reply.code & 0xFF, reply.fallback_code & 0xFF))
    sizes = (len(part).to_bytes(4, "little") for part in (reply.err, reply.fallback))
    return frame(DONE, codes, *sizes, reply.err, reply.fallback, reply.out)


def unpack_reply(body: bytes) -> Reply:
    """Parse the body of a reply.

    Raises:
        FrameError: If it is not a complete one.
    """
    if body[:1] != DONE or len(body) < REPLY:
        raise FrameError("this is not a reply")
    middle = REPLY + int.from_bytes(body[3:7], "little")
    end = middle + int.from_bytes(body[7:REPLY], "little")
    if end > len(body):
        raise FrameError("this reply is truncated")
    return Reply(
        code=body[1],
        out=body[end:],
        err=body[REPLY:middle],
        fallback=body[middle:end],
        fallback_code=body[2],
    )

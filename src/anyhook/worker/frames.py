"""What clients and workers say to each other.

Each frame is `MAGIC`, the length of the body as four bytes (little-endian), and the body, whose
first byte is its kind (`anyhook.worker.client`).
"""

from __future__ import annotations

from anyhook.model.record import Record
from anyhook.worker.client import (
    COLD,
    DONE,
    HEAD,
    LEASE,
    LONGEST_FRAME,
    MAGIC,
    REPLY,
    RUN,
    TAKEN,
    TOLD,
)

_FIXED = 13
"""Bytes of a request in front of its words: kind, mask, and the lengths of words and variables."""


class FrameError(ValueError):
    """Something that no client of ours sends."""


class Request(Record):
    """What a client wants to run.

    Attributes:
        kind: `RUN` or `LEASE`.
        mask: Of the files that the hook creates.
        key: Working directory, hook file and arguments, each with a NUL behind it: what runs in
            one process has the same.
        environ: The variables, `NAME=value` each with a NUL behind it.
        payload: The event.
    """

    kind: bytes
    mask: int
    key: bytes
    environ: bytes
    payload: bytes

    @property
    def words(self) -> list[bytes]:
        """Working directory, hook file and arguments."""
        return self.key[:-1].split(b"\0")


class Reply(Record):
    """How a call ended.

    Attributes:
        code: The exit code.
        out: Standard output.
        err: Standard error.
        lost: More of standard error if nobody reads `out`.
        lost_code: The exit code then.
    """

    code: int
    out: bytes = b""
    err: bytes = b""
    lost: bytes = b""
    lost_code: int = 1


def frame(*parts: bytes) -> bytes:
    """Write a frame."""
    size = sum(map(len, parts))
    return b"".join((MAGIC, size.to_bytes(4, "little"), *parts))


def taken(executor: int | None = None) -> bytes:
    """Write the frame that promises an answer.

    Args:
        executor: The process that works on the event; `None` while it waits for one.
    """
    return frame(TAKEN, b"" if executor is None else executor.to_bytes(4, "little"))


def body_size(head: bytes) -> int:
    """Read the beginning of a frame: return the length of the body.

    Raises:
        FrameError: If it is none, or too long.
    """
    size = int.from_bytes(head[len(MAGIC) : HEAD], "little")
    if head[: len(MAGIC)] != MAGIC or not 0 < size <= LONGEST_FRAME:
        raise FrameError("this is no frame")
    return size


def parse_request(body: bytes) -> Request:
    """Read the body of a request to run something.

    Raises:
        FrameError: If it is none.
    """
    if len(body) < _FIXED or body[:1] not in (RUN, LEASE):
        raise FrameError("this is no request")
    mask, words, env = (int.from_bytes(body[i : i + 4], "little") for i in (1, 5, 9))
    middle, end = _FIXED + words, _FIXED + words + env
    key = body[_FIXED:middle]
    if end > len(body) or key.count(b"\0") < 2 or key[-1:] != b"\0":
        raise FrameError("this request is cut off")
    return Request(kind=body[:1], mask=mask, key=key, environ=body[middle:end], payload=body[end:])


def pack_reply(reply: Reply) -> bytes:
    """Write the frame of a reply: codes, the lengths of `err` and `lost`, these, and `out`."""
    head = bytes((reply.code & 0xFF, reply.lost_code & 0xFF))
    sizes = (len(part).to_bytes(4, "little") for part in (reply.err, reply.lost))
    return frame(DONE, head, *sizes, reply.err, reply.lost, reply.out)


def parse_reply(body: bytes) -> Reply:
    """Read the body of a reply.

    Raises:
        FrameError: If it is none.
    """
    if body[:1] != DONE or len(body) < REPLY:
        raise FrameError("this is no reply")
    middle = REPLY + int.from_bytes(body[3:7], "little")
    end = middle + int.from_bytes(body[7:REPLY], "little")
    if end > len(body):
        raise FrameError("this reply is cut off")
    err, lost, out = body[REPLY:middle], body[middle:end], body[end:]
    return Reply(code=body[1], out=out, err=err, lost=lost, lost_code=body[2])


def cold(reason: str) -> bytes:
    """Write the frame that sends a client away."""
    return frame(COLD, reason.encode("utf-8", "replace"))


def told(text: bytes) -> bytes:
    """Write the frame of what was asked for."""
    return frame(TOLD, text)

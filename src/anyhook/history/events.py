"""What the history stores and returns: events with their decisions, results and digests."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from anyhook.files import read_user_file
from anyhook.history.verdicts import NO_VERDICT, reason_of, verdict_of
from anyhook.model.record import EMPTY, Record
from anyhook.model.status import Status, trouble_of

if TYPE_CHECKING:
    from collections.abc import Mapping


NOT_EXECUTED = "not_executed"
"""The result of a call that an agent, its user or a hook refused."""


class RecordedResult(Record, kw_only=False):
    """The result of one hook.

    Attributes:
        hook: Label of the hook.
        place: Its position in a settings file or a hook file, `FILE:LINE`.
        kind: Kind of handler: `command`, `function`, `http`, ….
        status: A member of `anyhook.model.status.Status`.
        shadow: Whether it ran as a shadow: what it answered did not count.
        started: Seconds from the start of the dispatch.
        duration: Seconds.
        exit_code: Exit code of a command.
        signal: Name of the signal that ended it.
        answer: Its answer without empty fields.
        stdout: Standard output, cut.
        stderr: Standard error, cut.
        truncated: Whether a stream was cut.
        error: Why it failed.
        version: `command`, `file`, `size` and `mtime` (nanoseconds) of the hook when it ran.
        digest: Content hash of the hook; `None` if its file had changed before it was taken.
    """

    hook: str
    place: str = ""
    kind: str = "command"
    status: str = "ran"
    shadow: bool = False
    started: float = 0.0
    duration: float | None = None
    exit_code: int | None = None
    signal: str | None = None
    answer: Mapping[str, Any] = EMPTY
    stdout: str = ""
    stderr: str = ""
    truncated: bool = False
    error: str | None = None
    version: Mapping[str, Any] = EMPTY
    digest: str | None = None

    @property
    def verdict(self) -> str:
        """The verdict of its answer (`anyhook.history.verdicts`); of a shadow, it did not count.

        The answer of a hook in the background does not count.
        """
        return NO_VERDICT if self.status == Status.STARTED else verdict_of(self.answer)

    @property
    def trouble(self) -> str:
        """What was wrong with the run (`anyhook.model.status.trouble_of`); empty for nothing."""
        return trouble_of(self.status, self.exit_code, self.signal)


class RecordedEvent(NamedTuple):
    """An event of a session, what was decided, and the result of each hook.

    A named tuple, because an import makes millions of them, and a frozen dataclass takes five
    times as long to make.

    Attributes:
        agent: Name of the agent.
        session: Identifier of the session.
        event: Canonical name.
        time: Unix timestamp.
        payload: The event as the agent sends it to hooks, without secrets.
        source: Where it was seen; see `anyhook.journal.records.event_record`.
        project: Directory of the project.
        tool: Canonical name of the tool; `None` for other events.
        decision: The combined decision without empty fields; `None` if it is not known.
        results: The results of the hooks.
        reconstructed: Members of the payload that were not recorded but made up or inferred.
        redacted: Number of secrets that were replaced.
        cut: Whether long strings were cut.
        key: Identifies the event in its session; `None` for one that was recorded live.
        refusal: Why the call was not executed, as the agent told its model; `None` if it was, or if
            that is not known. The denial of a hook is one, too.
        has_reached_hooks: Whether hooks got the event: not if the agent refused the call earlier.
        id: Number in the store; 0 before it is stored.
    """

    agent: str
    session: str
    event: str
    time: float
    payload: Mapping[str, Any]
    source: str
    project: str = ""
    tool: str | None = None
    decision: Mapping[str, Any] | None = None
    results: tuple[RecordedResult, ...] = ()
    reconstructed: tuple[str, ...] = ()
    redacted: int = 0
    cut: bool = False
    key: str | None = None
    refusal: str | None = None
    has_reached_hooks: bool = True
    id: int = 0

    @property
    def verdict(self) -> str:
        """The verdict (`anyhook.history.verdicts`)."""
        return verdict_of(self.decision)

    @property
    def stop(self) -> bool:
        """Whether the agent's turn was ended, whatever the verdict."""
        return bool((self.decision or {}).get("stop"))

    @property
    def result(self) -> str | None:
        """`NOT_EXECUTED` for a call that was refused; else `None`."""
        return None if self.refusal is None else NOT_EXECUTED

    @property
    def reason(self) -> str:
        """The reason of the decision; empty if there is none."""
        return reason_of(self.decision or {})


# -- which content of a hook ran

DIGEST_SIZE = 16
"""Bytes of a content hash."""


def hook_digest(result: RecordedResult) -> str | None:
    """Return the content hash of the hook of a result; `None` if its file changed since it ran."""
    if result.digest:
        return result.digest
    version = result.version
    file, command = version.get("file"), str(version.get("command", ""))
    if not isinstance(file, str):
        return content_digest(command.encode("utf-8", "replace")) if command else None
    content = _file_digest(file, version.get("size", -1), version.get("mtime", -1))
    if content is None:
        return None
    return content_digest(f"{command}\0{content}".encode("utf-8", "replace"))


def content_digest(content: bytes) -> str:
    """Return the hash of a content."""
    import hashlib  # late: to read events needs no hash

    return hashlib.blake2b(content, digest_size=DIGEST_SIZE).hexdigest()


@lru_cache(maxsize=4096)
def _file_digest(file: str, size: int, mtime: int) -> str | None:
    """Return the hash of a file that has this size and this time; `None` if it has others."""
    try:
        status = os.stat(file)  # noqa: PTH116 - the name may be no path at all
        if (status.st_size, status.st_mtime_ns) != (size, mtime):
            return None
        return content_digest(read_user_file(file, size))
    except (OSError, ValueError):
        return None

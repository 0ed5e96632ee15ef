"""Calls that the user allows once although a hook file denies them.

A denial of a hook file leaves a pending record with an ID, `anyhook allow ID` turns it into an
approval, and the hook file gives no opinion on exactly that call, once, for ten minutes.

```
approvals/pending/ID.json       a denied call: what it was and why it was denied
approvals/granted/DIGEST.json   an approval that waits for its call
approvals/used/NONCE.json       an approval that was used; it cannot be used again
```

DIGEST is the hash of the call and of the hook file. A process of the same user can write
here what `anyhook allow` writes: see `docs/allow.md`. Hook files import this module when they
deny a call, so it imports little.
"""

from __future__ import annotations

import json
import os
import time

from anyhook.files import data_path, read_json_object
from anyhook.model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, TypeGuard

VALID_SECONDS = 600.0
"""Seconds in which an approval can be used."""
KEPT_SECONDS = 7 * 86400.0
"""Seconds for which denied calls and used approvals are kept."""
MAX_PENDING = 200
"""Denied calls that are shown, the newest ones."""
MAX_KEPT = 250
"""Denied calls that are kept; the oldest are dropped. A denial that had to drop one would look at
the times of all of them, and the agent waits for it."""
MAX_SIZE = 64 * 1024
"""Bytes of a record."""
MAX_SHOWN = 2000
"""Characters of a call's arguments that are kept, without secrets, to be shown."""
ID_LETTERS = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"
"""Letters and digits that are not taken for one another."""
ID_LENGTH = 6


class DeniedCall(Record):
    """A call that a hook file has denied.

    Attributes:
        id: What the user types.
        tool: The agent's name of the tool.
        arguments: Its arguments as JSON, without secrets, possibly cut.
        time: Unix timestamp of the denial.
        digest: Hash of the hook file, the agent, the tool, its arguments, the working directory and
            the project.
    """

    id: str
    hook: str
    agent: str
    tool: str
    cwd: str
    project: str
    time: float
    arguments: str = ""
    reason: str = ""
    digest: str = ""


class Approval(Record):
    """A call that the user has allowed once.

    Attributes:
        granted: Unix timestamp of the approval.
        uptime: Seconds of the system's monotonic clock at that time. Both clocks have to agree that
            the approval is still valid, so that setting one of them does not prolong it.
    """

    call: DeniedCall
    nonce: str
    granted: float
    uptime: float
    terminal: str
    used: float | None = None

    def is_valid(self) -> bool:
        """Return whether it can be used now."""
        age = time.time() - self.granted
        running = time.monotonic() - self.uptime
        return 0 <= age <= VALID_SECONDS and 0 <= running <= VALID_SECONDS


def call_digest(
    hook: str, agent: str, tool: str, arguments: object, *, cwd: str, project: str
) -> str:
    """Return the hash that stands for a call of a tool, with any JSON value, under a hook file."""
    import hashlib  # late: it takes 6 ms, and most denials have no approval to look for

    parts = [os.path.realpath(hook), agent, tool, arguments, cwd, project]
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Approvals:
    """The denied and the allowed calls of a user."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._directory = f"{data_path(environ)}/approvals"

    # -- what hook files do

    def has_granted(self) -> bool:
        """Return whether there is any approval; without one, no digest has to be computed."""
        return next(self._files("granted"), None) is not None

    def can_keep(self) -> bool:
        """Return whether a denied call can be written, as far as permissions show that."""
        directory = os.path.dirname(self._path("pending", "any"))
        while not os.path.lexists(directory) and directory != os.path.dirname(directory):
            directory = os.path.dirname(directory)
        return os.path.isdir(directory) and os.access(directory, os.W_OK)

    def keep(self, call: DeniedCall) -> None:
        """Keep a call that was denied.

        Raises:
            OSError: If it cannot be written.
        """
        self._write("pending", call.id, call)
        paths = list(self._files("pending"))
        if len(paths) > MAX_KEPT:
            for path in sorted(paths, key=_modified)[:-MAX_PENDING]:
                _remove(path)

    def use(self, digest: str) -> Approval | None:
        """Use the approval of a call, which has a digest (`call_digest`); `None` if there is none.

        It cannot be used a second time.

        Raises:
            OSError: If the use cannot be written down.
        """
        path = self._path("granted", digest)
        approval = _read_approval(path)
        if approval is None or approval.call.digest != digest or not approval.is_valid():
            return None
        used = approval.replace(used=time.time())
        try:
            # Two calls at once, or a file that was put back: only the first one makes this file.
            self._write("used", approval.nonce, used, is_new=True)
        except FileExistsError:
            return None
        _remove(path)
        _remove(self._path("pending", approval.call.id))
        return used

    # -- what the user does

    def pending(self) -> list[DeniedCall]:
        """Return the newest denials of the last seven days, the newest first."""
        oldest = time.time() - KEPT_SECONDS
        calls: list[DeniedCall] = []
        for path in self._files("pending"):
            content = read_json_object(path, MAX_SIZE)
            call = _call_of(content) if content is not None else None
            if call is not None and call.time >= oldest:
                calls.append(call)
        return sorted(calls, key=lambda call: call.time, reverse=True)[:MAX_PENDING]

    def waiting(self) -> list[DeniedCall]:
        """Return the newest denial of each call that is not allowed now, the newest first."""
        digests = {approval.call.digest for approval in self.granted()}
        calls: list[DeniedCall] = []
        for call in self.pending():
            if call.digest not in digests:
                digests.add(call.digest)
                calls.append(call)
        return calls

    def granted(self) -> list[Approval]:
        """Return the approvals that can be used now, the newest first."""
        approvals = [approval for approval in self._read_all("granted") if approval.is_valid()]
        return sorted(approvals, key=lambda approval: approval.granted, reverse=True)

    def used(self) -> list[Approval]:
        """Return the approvals of the last seven days that were used, the newest first."""
        oldest = time.time() - KEPT_SECONDS
        approvals = [approval for approval in self._read_all("used") if approval.granted >= oldest]
        return sorted(approvals, key=lambda approval: approval.granted, reverse=True)

    def grant(self, call: DeniedCall, terminal: str) -> Approval:
        """Allow a call once.

        Raises:
            OSError: If it cannot be written.
        """
        approval = Approval(
            call=call,
            nonce=os.urandom(16).hex(),
            granted=time.time(),
            uptime=time.monotonic(),
            terminal=terminal,
        )
        self._write("granted", call.digest, approval)
        oldest = time.time() - KEPT_SECONDS
        for kind in ("pending", "granted", "used"):
            for path in self._files(kind):
                if _modified(path) < oldest:
                    _remove(path)
        return approval

    def revoke(self, approval: Approval) -> bool:
        """Take an approval back; return whether it was still there."""
        return _remove(self._path("granted", approval.call.digest))

    # -- files

    def _path(self, kind: str, name: str) -> str:
        return f"{self._directory}/{kind}/{name}.json"

    def _files(self, kind: str) -> Iterator[str]:
        try:
            names = os.listdir(f"{self._directory}/{kind}")
        except OSError:
            return
        for name in names:
            if name.endswith(".json"):
                yield f"{self._directory}/{kind}/{name}"

    def _read_all(self, kind: str) -> list[Approval]:
        approvals = [_read_approval(path) for path in self._files(kind)]
        return [approval for approval in approvals if approval is not None]

    def _write(self, kind: str, name: str, record: Record, *, is_new: bool = False) -> None:
        path = self._path(kind, name)
        content = json.dumps(record, indent=1, default=Record.as_dict)
        text = content.encode("utf-8", "backslashreplace")
        for directory in (self._directory, os.path.dirname(path)):
            os.makedirs(directory, mode=0o700, exist_ok=True)
        if is_new:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(text)
            return
        temporary = f"{path}.{os.getpid()}.{os.urandom(4).hex()}"
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(text)
            os.replace(temporary, path)
        except OSError:
            _remove(temporary)
            raise


def shown_arguments(arguments: object) -> str:
    """Return arguments of a tool as JSON for people: without secrets, and cut if they are long."""
    from anyhook.secrets.redact import redact_json, redact_start

    text = json.dumps(arguments, ensure_ascii=False)
    if len(text) > MAX_SHOWN:
        return f"{redact_start(text, MAX_SHOWN)}…"
    return redact_json(text)[0]


def new_id() -> str:
    """Return a random ID."""
    return "".join(ID_LETTERS[byte % len(ID_LETTERS)] for byte in os.urandom(ID_LENGTH))


def offer_of(name: str, identifier: str) -> str:
    """Return the message of a hook to the user that a denied call can be allowed once."""
    return f"{name} {_OFFER}{identifier}"


def without_offer(message: str) -> str:
    """Return a message without the offers in it, which have another ID each time."""
    return "\n".join([line for line in message.split("\n") if _OFFER not in line])


_OFFER = "denied this. To allow exactly this call once: anyhook allow "


def _modified(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _remove(path: str) -> bool:
    try:
        os.unlink(path)
    except OSError:
        return False
    return True


def _call_of(content: Mapping[str, Any]) -> DeniedCall | None:
    texts = [name for name in DeniedCall.record_fields if name != "time"]
    values: dict[str, Any] = {name: content.get(name) for name in DeniedCall.record_fields}
    if not all(isinstance(values[name], str) for name in texts) or not _is_time(values["time"]):
        return None
    if not _is_file_name(values["id"]) or not _is_file_name(values["digest"]):
        return None
    return DeniedCall(**values)


def _read_approval(path: str) -> Approval | None:
    content = read_json_object(path, MAX_SIZE)
    if content is None or not isinstance(content.get("call"), dict):
        return None
    call = _call_of(content["call"])
    nonce, terminal = content.get("nonce"), content.get("terminal")
    granted, uptime, used = content.get("granted"), content.get("uptime"), content.get("used")
    if call is None or not isinstance(terminal, str) or not _is_file_name(nonce):
        return None
    if not _is_time(granted) or not _is_time(uptime) or not (used is None or _is_time(used)):
        return None
    return Approval(
        call=call, nonce=nonce, granted=granted, uptime=uptime, terminal=terminal, used=used
    )


def _is_time(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_file_name(value: object) -> TypeGuard[str]:
    """Return whether a value can be the name of a file in these directories."""
    return isinstance(value, str) and value.isalnum() and len(value) <= 64

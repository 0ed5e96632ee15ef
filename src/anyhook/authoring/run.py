"""A hook file as an agent's command: one event in, one valid answer out, whatever happens.

The answer goes to the real standard output; what the functions print goes to standard error, so
that no stray line spoils it. A crash, a hang and nonsense end in the answer that the author chose,
without a traceback: the model must never read one.
"""

from __future__ import annotations

import json
import os
import sys

from anyhook.dialects import get_dialect, recognise
from anyhook.errors import AnyhookError
from anyhook.model.answers import NO_OPINION, Answer, Outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

    from anyhook.authoring.hooks import HookFunction, Hooks
    from anyhook.dialects.base import Dialect, EventSpec
    from anyhook.model.events import Event

BLOCKED = 2
"""The exit code that blocks in every agent when standard output is empty."""
FAILED = 1
"""The exit code that no agent takes for a denial."""
MARGIN = 0.9
"""Part of the agent's time that a hook may use; the rest is for the answer."""
LOG = "ANYHOOK_LOG"
"""Variable that names a file for tracebacks."""


def run(hooks: Hooks, argv: Sequence[str]) -> None:
    """Read an event from standard input and answer it on standard output.

    Args:
        hooks: The functions.
        argv: Arguments.
    """
    try:
        name, timeout = _options(argv)
    except AnyhookError as error:
        _leave(f"anyhook: {error}", FAILED)
    if sys.stdin is None or sys.stdin.isatty():
        _leave(
            f"{hooks.name} is a hook: an agent gives it an event. Try: anyhook test FILE", FAILED
        )
    out = _take_stdout()
    try:
        _Run(hooks, out, timeout).answer(sys.stdin.buffer.read(), name)
    finally:
        os.close(out)


def _options(argv: Sequence[str]) -> tuple[str | None, float | None]:
    values: dict[str, str] = {}
    words = iter(argv)
    for word in words:
        key, found, value = word.partition("=")
        if key not in ("--dialect", "--timeout"):
            raise AnyhookError(f"no option {key!r}; a hook takes --dialect and --timeout")
        values[key] = value if found else next(words, "")
    name = values.get("--dialect")
    if name is not None:
        get_dialect(name)
    try:
        timeout = float(values["--timeout"]) if "--timeout" in values else None
    except ValueError:
        raise AnyhookError(f"--timeout takes seconds, not {values['--timeout']!r}") from None
    return name, timeout


def _take_stdout() -> int:
    """Keep the real standard output for the answer; everything else is sent to standard error."""
    out = os.dup(1)
    os.dup2(2, 1)
    return out


class _Run:
    """One event on its way through the functions of a file."""

    def __init__(self, hooks: Hooks, out: int, timeout: float | None) -> None:
        self.hooks = hooks
        self.out = out
        self.timeout = timeout
        self.at: HookFunction | None = None

    def answer(self, text: bytes, name: str | None) -> None:
        """Answer the event in a text."""
        from anyhook.dialects.payload import decode_event

        try:
            payload = json.loads(text)
        except (ValueError, RecursionError) as error:
            self._give_up(f"standard input holds no JSON ({type(error).__name__})")
        if not isinstance(payload, dict):
            self._give_up("standard input holds no JSON object")
        found = name or recognise(payload, os.environ)
        if found is None:
            self._give_up("nothing tells which agent sent this event; use --dialect NAME")
        dialect = get_dialect(found)
        event, problems = decode_event(dialect, payload)
        spec = dialect.by_canonical.get(event.name)
        if spec is None:
            return
        for problem in problems:
            self._warn(problem.message)
        if not spec.silence:  # this agent takes any output for an answer, standard error too
            _silence_stderr()
        said, notes = self._decide(dialect, spec, event)
        for note in notes:
            self._warn(note)
        self._write(dialect, spec, said)

    def _decide(self, dialect: Dialect, spec: EventSpec, event: Event) -> tuple[Answer, list[str]]:
        from anyhook.authoring.deadline import deadline
        from anyhook.authoring.degrade import fit

        seconds = self._seconds(dialect, spec)
        refuse = self.hooks.unsupported == "refuse"
        try:
            with deadline(seconds, lambda: self._end_late(dialect, spec, event)):
                said = self.hooks.decide(event, dialect, self._call)
            if said is NO_OPINION:
                return said, []
            return fit(dialect, event, said, refuse=refuse)
        except SystemExit as end:
            if end.code in (None, 0):
                return NO_OPINION, []
            return self._crashed(dialect, event, end)
        except Exception as error:  # noqa: BLE001 - the author chose what a crash means
            return self._crashed(dialect, event, error)

    def _call(self, function: HookFunction, event: Any) -> Any:
        from anyhook.authoring.hooks import finish

        self.at = function
        return finish(function, event)

    def _seconds(self, dialect: Dialect, spec: EventSpec) -> float:
        agent = spec.timeouts.get("command", dialect.default_timeout)
        own = self.timeout or self.hooks.timeout
        return own if own is not None else agent * MARGIN

    # -- what went wrong

    def _crashed(
        self, dialect: Dialect, event: Event, error: BaseException, what: str = ""
    ) -> tuple[Answer, list[str]]:
        from anyhook.authoring.degrade import UnsupportedError, fit

        where = f"{self.at.name} ({_short(self.at.file)}:{self.at.line})" if self.at else "hook"
        what = what or f"failed ({type(error).__name__})"
        if isinstance(error, UnsupportedError):
            what = f"is refused: {error}"
        spec = dialect.by_canonical[event.name]
        _log(error)
        if self.hooks.on_crash == "deny" and spec.closes:
            reason = f"hook {where} {what}; blocked, because it must not fail"
            return fit(dialect, event, Answer(outcome=Outcome.DENY, reason=reason))
        message = f"hook {where} {what}; it had no say"
        answer, notes = fit(dialect, event, Answer(system_message=message))
        return answer, [message, *notes]

    def _end_late(self, dialect: Dialect, spec: EventSpec, event: Event) -> None:
        """Answer at the deadline, from inside the signal: nothing after it will come to that."""
        late = TimeoutError("too slow")
        answer, notes = self._crashed(dialect, event, late, "ran out of time")
        for note in notes:
            self._warn(note)
        self._write(dialect, spec, answer)
        sys.stderr.flush()
        os._exit(0)

    def _give_up(self, why: str) -> NoReturn:
        """End without knowing whose form to answer in: only exit codes are left."""
        if self.hooks.on_crash == "deny":
            _leave(f"hook {self.hooks.name} blocked this: {why}, and it must not fail", BLOCKED)
        _leave(f"anyhook: {self.hooks.name}: {why}; it had no say", FAILED)

    def _warn(self, text: str) -> None:
        sys.stderr.write(f"anyhook: {self.hooks.name}: {text}\n")

    def _write(self, dialect: Dialect, spec: EventSpec, answer: Answer) -> None:
        from anyhook.dialects.reply import encode_answer

        reply = encode_answer(dialect, spec, answer)
        text = _dump(reply) if reply else spec.silence.encode()
        path = (answer.extra or {}).get("worktree_path")
        if isinstance(path, str) and spec.silence == "":
            text = path.encode()
        try:
            while text:
                text = text[os.write(self.out, text) :]
        except OSError as error:  # nobody reads the answer any more
            _leave(f"anyhook: {self.hooks.name}: the answer is lost: {error.strerror}", FAILED)


def _dump(reply: dict[str, Any]) -> bytes:
    try:
        return json.dumps(reply, ensure_ascii=True, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError):
        from anyhook.model.json import repair

        return json.dumps(repair(reply)).encode()


def _silence_stderr() -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    sys.stderr.flush()
    for stream in (1, 2):
        os.dup2(null, stream)
    os.close(null)


def _short(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]


def _log(error: BaseException) -> None:
    """Write the traceback where the author wants it, and nowhere else."""
    path = os.environ.get(LOG)
    if not path:
        return
    import traceback

    with open(path, "a", encoding="utf-8") as file:  # noqa: PTH123 - no pathlib in a hook
        traceback.print_exception(error, file=file)


def _leave(message: str, code: int) -> NoReturn:
    sys.stderr.write(message + "\n")
    sys.exit(code)

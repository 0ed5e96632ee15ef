"""A hook file as an agent's command: one event in, one valid answer out, whatever happens.

The answer goes to the real standard output; what the functions print goes to standard error, so
that no stray line spoils it. A crash, a hang and nonsense end in the answer that the author chose,
without a traceback: the model must never read one.
"""

from __future__ import annotations

import gc
import json
import os
import sys

from anyhook.agents import get_agent, recognise
from anyhook.authoring.hooks import LONGEST
from anyhook.authoring.process_exit import BLOCKED, end_if_done
from anyhook.errors import AnyhookError
from anyhook.model.answers import NO_OPINION, Answer, Outcome
from anyhook.model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import Any, NoReturn

    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.authoring.hooks import HookFunction, Hooks
    from anyhook.model.events import Event


FAILED = 1
"""The exit code that no agent takes for a denial."""
INTERRUPTED = 130
MARGIN = 0.9
"""Part of the agent's time that a hook may use; the rest is for the answer."""
BOM = b"\xef\xbb\xbf"
"""What some programs write in front of UTF-8; the codec that knows it is a file to load."""
SURELY_SHALLOW = 200
"""Brackets in an event that need no measuring of its depth: `anyhook.model.json.DEPTH`."""
WHY = "{why}"
"""Stands for what the system says of a lost answer."""
ELAPSED = "ANYHOOK_ELAPSED"
"""Variable with the seconds that passed in a worker which then did not answer."""
SHORTEST = 0.001
"""Seconds; what a hook has left whose time is over."""
LOG = "ANYHOOK_LOG"
"""Variable that names a file for tracebacks."""


def run(hooks: Hooks, argv: Sequence[str]) -> None:
    """Read an event from standard input and answer it on standard output.

    Args:
        hooks: The functions.
        argv: Arguments.
    """
    try:
        name, timeout = options(argv)
    except AnyhookError as error:
        _leave(f"anyhook: {error}", FAILED)
    if sys.stdin is not None and sys.stdin.isatty():
        _leave(
            f"{hooks.name} is a hook: an agent gives it an event. Try: anyhook test FILE", FAILED
        )
    try:
        out = _take_stdout()
    except OSError:
        Run(hooks, StandardOutput(-1), timeout).give_up("there is no standard output")
    text = _read()
    elapsed = _elapsed()
    collects = gc.isenabled()

    def collect_again() -> None:
        gc.freeze()
        if collects:
            gc.enable()

    gc.disable()  # what is made before the functions are called stays
    output = StandardOutput(out)
    try:
        Run(hooks, output, timeout, collect_again, elapsed=elapsed).answer(text, name)
    finally:
        gc.unfreeze()
        if collects:
            gc.enable()
    os.close(out)
    _leave_threads_behind(output.code)
    if output.code:
        sys.exit(output.code)
    caller = sys._getframe().f_back  # noqa: SLF001 - there is no other way to see the caller
    end_if_done(caller and caller.f_back)


def answer(hooks: Hooks, argv: Sequence[str], payload: bytes, output: Output) -> None:
    """Answer an event that was read already, as `run` does.

    Args:
        hooks: The functions.
        argv: Arguments.
        payload: What standard input held.
        output: Takes the answer.

    Raises:
        SystemExit: With the code that the process would end with.
    """
    try:
        name, timeout = options(argv)
    except AnyhookError as error:
        output.warn(f"anyhook: {error}")
        sys.exit(FAILED)
    Run(hooks, output, timeout).answer(payload, name)
    if output.code:
        sys.exit(output.code)


def options(argv: Sequence[str]) -> tuple[str | None, float | None]:
    """Read the arguments of a hook file: the agent, and the seconds that it waits.

    Raises:
        AnyhookError: If they are none.
    """
    values: dict[str, str] = {}
    words = iter(argv)
    for word in words:
        key, found, value = word.partition("=")
        if key not in ("--agent", "--timeout"):
            raise AnyhookError(f"no option {key!r}; a hook takes --agent and --timeout")
        values[key] = value if found else next(words, "")
    name = values.get("--agent")
    if name is not None:
        get_agent(name)
    if "--timeout" not in values:
        return name, None
    try:
        timeout = float(values["--timeout"])
    except ValueError:
        timeout = 0.0
    if not 0 < timeout <= LONGEST:
        raise AnyhookError(f"--timeout takes seconds, not {values['--timeout']!r}")
    return name, timeout


def _read() -> bytes:
    try:
        return sys.stdin.buffer.read() if sys.stdin is not None else b""
    except OSError:
        return b""
    except KeyboardInterrupt:  # no traceback for the model
        os._exit(INTERRUPTED)


def _elapsed() -> float:
    """Take the seconds that have passed out of the environment: they are of this event alone."""
    text = os.environ.pop(ELAPSED, None)
    if text is None:
        return 0.0
    try:
        return max(0.0, float(text))
    except ValueError:
        return 0.0


def _leave_threads_behind(code: int) -> None:
    """End now if a function left threads running: the answer counts when the process has ended."""
    threading = sys.modules.get("threading")
    if threading is not None and any(
        not thread.daemon and thread is not threading.main_thread()
        for thread in threading.enumerate()
    ):
        sys.stderr.flush()
        os._exit(code)


def _take_stdout() -> int:
    """Keep the real standard output for the answer; everything else is sent to standard error."""
    out = os.dup(1)
    os.dup2(2, 1)
    return out


class FallbackExit(Record):
    """What is left to do when nobody reads the answer any more: an exit code can still deny.

    Attributes:
        message: For standard error.
        code: The exit code.
    """

    message: str
    code: int


class Output:
    """Takes the answer of one event, and does to the process what an event needs.

    Attributes:
        code: The exit code that goes with the answer.
    """

    code = 0
    _stderr = -1

    def write(self, text: bytes, lost: FallbackExit) -> None:
        """Take the whole answer, and what to do if it cannot be handed on."""
        raise NotImplementedError

    def leave(self) -> NoReturn:
        """End the process now, from inside a signal, with the answer handed on."""
        raise NotImplementedError

    def warn(self, text: str) -> None:
        """Tell people something."""
        _say(text)

    def silence(self) -> None:
        """Let nothing that is printed be taken for the answer."""
        self._stderr = _silence_stderr()

    def end_silence(self, *, speak: bool) -> None:
        """Give up what `silence` kept; with `speak`, what is printed from now on is seen again."""
        if self._stderr < 0:
            return
        if speak:
            sys.stderr.flush()
            os.dup2(self._stderr, 2)
        os.close(self._stderr)
        self._stderr = -1

    def limit(
        self, seconds: float, then: Callable[[], None]
    ) -> AbstractContextManager[object, bool | None]:
        """Call something when a block takes longer."""
        from anyhook.authoring.process_exit import Deadline

        return Deadline(seconds, then)


class StandardOutput(Output):
    """Where the answer of a process goes.

    Args:
        out: The descriptor.
    """

    def __init__(self, out: int) -> None:
        self._out = out

    def write(self, text: bytes, lost: FallbackExit) -> None:
        """Write the whole answer.

        Raises:
            SystemExit: If nobody reads it.
        """
        try:
            while text:
                text = text[os.write(self._out, text) :]
        except OSError as error:
            _leave(lost.message.replace(WHY, error.strerror or ""), lost.code)

    def leave(self) -> NoReturn:
        """End the process now, from inside a signal."""
        sys.stderr.flush()
        os._exit(self.code)


class Run:
    """One event on its way through the functions of a file.

    Args:
        hooks: The functions.
        output: Takes the answer.
        timeout: Seconds that the agent waits, if it is known.
        prepared: Called when all is ready for the functions.
        environ: Tells which agent it is, where the payload does not; by default the process's.
        elapsed: Seconds of the hook's time that have passed before.
    """

    def __init__(
        self,
        hooks: Hooks,
        output: Output,
        timeout: float | None,
        prepared: Callable[[], None] = lambda: None,
        environ: Mapping[str, str] | None = None,
        *,
        elapsed: float = 0.0,
    ) -> None:
        self.elapsed = elapsed
        self.environ = environ
        self.hooks = hooks
        self.output = output
        self.timeout = timeout
        self.prepared = prepared
        self.situation: tuple[AgentSpec, EventSpec, Event]
        self.at: HookFunction | None = None
        self.pid = os.getpid()
        self.said: list[Answer] = []
        self.notes: list[str] = []
        self.has_crashed = False
        self.is_silent = False
        self.held: list[str] = []

    def answer(self, text: bytes, name: str | None) -> None:
        """Answer the event in a text.

        Raises:
            SystemExit: If it holds none, or none that can be read.
        """
        if self.take(text, name):
            self.decide()

    def take(self, text: bytes, name: str | None) -> bool:
        """Read the event in a text.

        Returns:
            Whether there is something to decide.

        Raises:
            SystemExit: If it holds none, or none that can be read.
        """
        from anyhook.agents.payloads import decode_event

        payload, change = _parse(text.removeprefix(BOM).decode("utf-8", "replace"))
        if not isinstance(payload, dict):
            self.give_up("standard input holds no JSON object")
        if change:
            self._warn(change)
        environ = os.environ if self.environ is None else self.environ
        found = name or recognise(payload, environ)
        if found is None:
            self.give_up("nothing tells which agent sent this event; use --agent NAME")
        agent = get_agent(found)
        event, problems = decode_event(agent, payload)
        spec = agent.by_canonical.get(event.name)
        if spec is not None and spec.reads_all_output:
            self.output.silence()  # this agent takes any output for an answer, also on stderr
            self.is_silent = True
        for problem in problems:
            self._warn(problem.message)
        if spec is None:
            return False
        self.situation = agent, spec, event
        return True

    def decide(self) -> None:
        """Let the functions answer the event that was taken."""
        agent, spec, event = self.situation
        said = self._decide(agent, spec, event)
        for note in self.notes:
            self._warn(note)
        self._write(agent, spec, said)

    def _decide(self, agent: AgentSpec, spec: EventSpec, event: Event) -> Answer:
        def call(function: HookFunction, seen: Any) -> Answer:
            self.said.append(self._call(spec, function, seen))
            return self.said[-1]

        said = NO_OPINION
        self.prepared()
        try:
            with self.output.limit(self.seconds, self._end_late):
                said = self.hooks.decide(event, agent, call)
            return self._fit(agent, spec, event, said)
        except Exception as error:  # noqa: BLE001 - the author chose what a crash means
            return self._fit(agent, spec, event, self._left_of(spec, said, error))

    def _call(self, spec: EventSpec, function: HookFunction, event: Any) -> Answer:
        """Call a function; one that crashes costs no other its say."""
        from anyhook.authoring.hooks import checked, finish, sound

        self.at = function
        try:
            said, problems = sound(checked(function, finish(function, event)))
        except BaseException as error:  # noqa: BLE001 - an interrupt or an exit is a crash too
            return self._crashed(spec, error)
        self.notes += [f"{function.name}: {problem}" for problem in problems]
        return said

    def _fit(self, agent: AgentSpec, spec: EventSpec, event: Event, said: Answer) -> Answer:
        """Make of an answer what the agent can carry out, or count it as a crash."""
        if said is NO_OPINION:
            return said
        from anyhook.authoring.degrade import UnsupportedError, fit

        try:
            answer, notes = fit(agent, event, said, refuse=self.hooks.unsupported == "refuse")
        except UnsupportedError as error:
            rest = self._left_of(spec, said, error, f"is refused: {error}")
            answer, notes = fit(agent, event, rest)
        self.notes += notes
        return answer

    @property
    def seconds(self) -> float:
        """The time for the functions: less than the agent waits, as far as that is known."""
        return max(SHORTEST, self._whole_seconds() - self.elapsed)

    def _whole_seconds(self) -> float:
        agent, spec, _ = self.situation
        agent_timeout = self.timeout or spec.default_timeouts.get("command", agent.default_timeout)
        own = self.hooks.timeout
        if own is None:
            return agent_timeout * MARGIN
        return min(own, agent_timeout * MARGIN) if self.timeout else own

    # -- what went wrong

    def _left_of(
        self, spec: EventSpec, said: Answer, error: BaseException, what: str = ""
    ) -> Answer:
        """Return what a crash leaves of an answer: what else it wanted costs no denial."""
        crash = self._crashed(spec, error, what)
        if said.outcome is not Outcome.DENY:
            return crash
        return crash.replace(outcome=Outcome.DENY, reason=said.reason)

    def _crashed(self, spec: EventSpec, error: BaseException, what: str = "") -> Answer:
        where = f"{self.at.name} ({_short(self.at.file)}:{self.at.line})" if self.at else "hook"
        what = f"hook {where} {what or f'failed ({type(error).__name__})'}"
        _log(error)
        self.has_crashed = True
        if self.hooks.on_crash == "deny" and spec.can_fail_closed:
            reason = f"{what}; blocked, because it must not fail"
            return Answer(outcome=Outcome.DENY, reason=reason)
        message = f"{what}; it had no say"
        self.notes.append(message)
        return Answer(system_message=message)

    def _end_late(self) -> None:
        """Answer at the deadline, from inside the signal: nothing after it will come to that."""
        self.expire()
        self.output.leave()

    def expire(self) -> None:
        """Answer for functions that have run out of time."""
        from anyhook.authoring.sequence import fold

        agent, spec, event = self.situation
        late = self._crashed(spec, TimeoutError("too slow"), "ran out of time")
        answer = self._fit(agent, spec, event, fold([*self.said, late]))
        for note in self.notes:
            self._warn(note)
        self._write(agent, spec, answer)

    def give_up(self, why: str) -> NoReturn:
        """End without knowing whose form to answer in: only exit codes are left."""
        if self.hooks.on_crash == "deny":
            self.output.warn(f"hook {self.hooks.name} blocked this: {why}, and it must not fail")
            sys.exit(BLOCKED)
        self._warn(f"{why}; it had no say")
        sys.exit(FAILED)

    def _warn(self, text: str) -> None:
        """Report something to the author: in the log, and on standard error where that is safe."""
        line = f"anyhook: {self.hooks.name}: {text}"
        log_text(line)
        if self.is_silent:
            self.held.append(line)
        else:
            self.output.warn(line)

    def _end_silence(self, text: bytes) -> None:
        """Print what was held back, if there is an answer, so that it is not taken for one."""
        self.is_silent = False
        self.output.end_silence(speak=bool(text))
        for line in self.held if text else ():
            self.output.warn(line)

    def _write(self, agent: AgentSpec, spec: EventSpec, answer: Answer) -> None:
        from anyhook.agents.replies import reply_bytes

        if os.getpid() != self.pid:  # a copy that a function forked; the original answers
            os._exit(0)
        lost = self._lost(answer)
        message = None
        if answer.system_message is not None:
            from anyhook.agents.capabilities import stderr_message

            message = stderr_message(agent, spec.canonical, answer)
        if message is not None:
            answer = answer.replace(system_message=None)
        try:
            text = reply_bytes(agent, spec, answer)
        except Exception as error:  # noqa: BLE001 - what cannot be written is a crash
            text = reply_bytes(agent, spec, self._left_of(spec, answer, error))
        if self.is_silent:
            self._end_silence(text)
        if message is not None:
            self.output.warn(message)
            text = b"" if text == spec.no_opinion_output.encode() else text
            if not self.has_crashed:  # exit code 2 is for what a hook says, not for its failure
                self.output.code = BLOCKED
        self.output.write(text, lost)

    def _lost(self, answer: Answer) -> FallbackExit:
        """Say what an answer comes to that nobody reads: an exit code is the last way to deny."""
        name = self.hooks.name
        if answer.outcome is Outcome.DENY:
            return FallbackExit(message=answer.reason or f"blocked by hook {name}", code=BLOCKED)
        return FallbackExit(message=f"anyhook: {name}: the answer is lost: {WHY}", code=FAILED)


def _parse(text: str) -> tuple[Any, str | None]:
    """Return the event in a text, `None` if it holds no JSON, and what was changed in it.

    The usual event is read without `anyhook.model.json`, which costs an import.
    """
    if text.count("[") + text.count("{") <= SURELY_SHALLOW:
        try:
            return json.loads(text), None
        except json.JSONDecodeError:
            return None, None
        except ValueError:  # a number that is too long for Python
            pass
    from anyhook.model.json import parse_event

    try:
        return parse_event(text)
    except ValueError:
        return None, None


def _silence_stderr() -> int:
    """Send what is printed to nowhere; returns a descriptor of standard error as it was."""
    null = os.open(os.devnull, os.O_WRONLY)
    sys.stderr.flush()
    before = os.dup(2)
    for stream in (1, 2):
        os.dup2(null, stream)
    os.close(null)
    return before


def _short(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]


def _log(error: BaseException) -> None:
    """Write the traceback where the author wants it, and nowhere else."""
    if os.environ.get(LOG):
        import traceback

        log_text("".join(traceback.format_exception(error)))


def log_text(text: str) -> None:
    """Write lines to the file that `ANYHOOK_LOG` names; nowhere if it names none."""
    path = os.environ.get(LOG)
    if not path:
        return
    try:
        with open(path, "a", encoding="utf-8", errors="backslashreplace") as file:  # noqa: PTH123 - no pathlib in a hook
            file.write(text if text.endswith("\n") else f"{text}\n")
    except OSError:  # a log that cannot be written costs no answer
        return


def _leave(message: str, code: int) -> NoReturn:
    _say(message)
    sys.exit(code)


def _say(message: str) -> None:
    """Write to standard error, if there is one that somebody reads."""
    if sys.stderr is not None:
        try:
            sys.stderr.write(message + "\n")
            sys.stderr.flush()
        except OSError:  # the answer counts, and not what is said beside it
            return

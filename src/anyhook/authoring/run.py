"""A hook file as an agent's command: it reads one event and writes one valid answer.

The answer goes to the real standard output. What the functions print goes to standard error, so
that it cannot spoil the answer. A crash, a timeout and a value that is not an answer end in
the answer that the author chose, without a traceback: the model must never read one.

It is one module because a cold hook imports all of it, and each further module costs 0.1 ms.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from _thread import allocate_lock

from anyhook._compat import discard_write_signals, hold_write_signals
from anyhook.agents import get_agent, recognize
from anyhook.agents.encode import reply_bytes
from anyhook.authoring.functions import LATE, MAX_TIMEOUT, describe_crash
from anyhook.authoring.process_exit import (
    ERROR_FIELD,
    EXIT_SECONDS,
    Deadline,
    FallbackExit,
    StandardOutput,
    end_process,
    exit_now,
    getpid,
    release_prints,
)
from anyhook.errors import AnyhookError
from anyhook.model.answers import BLOCKING_EXIT, FAILURE_EXIT, NO_OPINION, Answer, Outcome
from anyhook.model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, NoReturn, TextIO

    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.authoring.functions import HookFunction, HookFunctions
    from anyhook.authoring.process_exit import Output
    from anyhook.authoring.recording import FunctionRun
    from anyhook.model.events import Event
    from anyhook.trust.approvals import DeniedCall


INTERRUPTED = 130
TIMEOUT_SHARE = 0.9
"""Share of the agent's timeout that the functions may use; the rest is for the answer."""
EXIT_SHARE = 0.5
"""Share of the remaining time that exit functions may use when the answer denies."""
BOM = b"\xef\xbb\xbf"
"""Some programs write it before UTF-8. The codec that removes it is one more file to load."""
MAX_UNCHECKED_BRACKETS = 200
"""An event with fewer brackets cannot be nested too deeply: `anyhook.model.json.DEPTH`."""
ELAPSED_ENV = "ANYHOOK_ELAPSED"
"""Variable with the seconds that passed before a client gave up waiting for a worker."""
MIN_SECONDS = 0.001
"""Seconds that remain for a hook whose time is over."""
LOG_ENV = "ANYHOOK_LOG"
"""Variable that names a file for tracebacks."""
RECORDED_ENV = "ANYHOOK_RECORDED"
"""Variable of hooks whose result another process records: `anyhook.journal.records.RECORDED`."""
REHEARSAL = "rehearsal"
"""Its value where no agent has sent the event: `anyhook.journal.records.REHEARSAL`."""
ALLOW_ENV = "ANYHOOK_ALLOW"
"""Variable that is `off` where no person can allow a denied call: in a service, in CI."""
CALL_EVENTS = ("before_tool", "permission_request")
"""Events whose denial keeps a tool from running: the user can allow that call."""
APPROVAL_SECONDS = 2.0
"""Seconds that a denial may take to look for the user's approval and to keep the call."""
EVENT_SECONDS = 1.0
"""Seconds after which an event has arrived, if the process was started for one."""
RECORD_SECONDS = 5.0
"""Seconds that the record of an event may take: a network may not answer."""
_decode = json.JSONDecoder().decode
"""Taken before the hook file can replace `json.loads`."""


def run(hooks: HookFunctions, argv: Sequence[str], payload: bytes | None = None) -> NoReturn:
    """Answer the event on standard input, or one that was read already, and end the process.

    The arguments are those of the hook's command.

    Raises:
        SystemExit: If the interpreter has something to do before the process ends.
    """
    try:
        options = parse_options(argv)
    except AnyhookError as error:
        _leave(f"anyhook: {error}")
    if _is_terminal(sys.stdin):
        message = f"{hooks.name} is a hook: an agent sends it an event. Try: anyhook test FILE"
        _leave(message)
    output = StandardOutput()
    release_prints()  # standard output is standard error now
    payload = _read_stdin() if payload is None else payload
    # The variable is removed, because the hook must not pass it on.
    seconds = os.environ.pop(ELAPSED_ENV, "0")
    try:
        elapsed = max(0.0, float(seconds))
    except ValueError:
        elapsed = 0.0
    is_collecting = gc.isenabled()

    def collect_again() -> None:
        gc.freeze()
        if is_collecting:
            gc.enable()

    gc.disable()  # what is made before the functions are called stays
    try:
        Run(hooks, output, options, collect_again, elapsed=elapsed).answer(payload)
        output.close()
        output.record()
        gc.unfreeze()
        if is_collecting:
            gc.enable()
    except BaseException:
        if not output.is_denial:
            raise
    end_process(output)


def answer_failed_load(hooks: HookFunctions, error: Exception) -> None:
    """Answer the event on standard input with a crash, and end the process; return if it has none.

    The error ended the hook file before it could run its functions.
    """
    from select import select

    try:
        # A program that embeds hooks may have an input that never ends.
        is_sent = not _is_terminal(sys.stdin) and bool(select([0], [], [], EVENT_SECONDS)[0])
    except OSError:  # the file has closed it
        is_sent = False
    payload = _read_stdin() if is_sent else b""
    if payload.strip():
        hooks.load_error = error
        run(hooks, sys.argv[1:], payload)


def answer(hooks: HookFunctions, argv: Sequence[str], payload: bytes, output: Output) -> None:
    """Answer an event that was read already, as `run` does; the output takes the answer."""
    try:
        options = parse_options(argv)
    except AnyhookError as error:
        output.fail(FallbackExit(message=f"anyhook: {error}", code=FAILURE_EXIT), "")
        return
    Run(hooks, output, options).answer(payload)


class Options(Record):
    """The options of a hook's command.

    Attributes:
        agent_name: The agent, if it is given.
        timeout: Seconds that the agent waits, if they are given.
        shadow: Whether the answer is kept from the agent.
    """

    agent_name: str | None = None
    timeout: float | None = None
    shadow: bool = False


def parse_options(argv: Sequence[str]) -> Options:
    """Return the options of a hook's command.

    Raises:
        AnyhookError: If there are other options, or the values are none.
    """
    values: dict[str, str] = {}
    shadow = False
    words = iter(argv)
    for word in words:
        option, has_value, value = word.partition("=")
        if word == "--shadow":
            shadow = True
            continue
        if option not in ("--agent", "--timeout"):
            message = f"no option {option!r}; a hook takes --agent, --timeout and --shadow"
            raise AnyhookError(message)
        values[option] = value if has_value else next(words, "")
    agent_name = values.get("--agent")
    if agent_name is not None:
        get_agent(agent_name)
    if "--timeout" not in values:
        return Options(agent_name=agent_name, shadow=shadow)
    try:
        timeout = float(values["--timeout"])
    except ValueError:
        timeout = 0.0
    if not 0 < timeout <= MAX_TIMEOUT:
        raise AnyhookError(f"--timeout takes seconds, not {values['--timeout']!r}")
    return Options(agent_name=agent_name, timeout=timeout, shadow=shadow)


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # the hook has closed it
        return False


def _read_stdin() -> bytes:
    try:
        return sys.stdin.buffer.read() if sys.stdin is not None else b""
    except (OSError, ValueError):  # the hook may have closed it
        return b""
    except KeyboardInterrupt:  # no traceback for the model
        exit_now(INTERRUPTED)


class _UnreadableError(Exception):
    """There is no event, or none that can be read; the message gives the reason."""


class Run:
    """Answers one event with the functions of a hook file; the output takes the answer.

    `on_ready` is called right before the functions. `elapsed` seconds of the timeout have passed.
    """

    def __init__(
        self,
        hooks: HookFunctions,
        output: Output,
        options: Options,
        on_ready: Callable[[], None] = lambda: None,
        *,
        elapsed: float = 0.0,
    ) -> None:
        self._hooks = hooks
        self._output = output
        self._agent_name = options.agent_name
        self._timeout = options.timeout
        self._is_shadow = options.shadow or hooks.shadow
        self._on_ready = on_ready
        self._elapsed = elapsed
        self._clock = time.perf_counter()
        self._traces = _Traces(hooks.name, is_shadow=self._is_shadow)
        self._warnings = _Warnings(hooks.name, is_shadow=self._is_shadow)
        is_rehearsal = os.environ.get(RECORDED_ENV) == REHEARSAL
        self._can_be_allowed = not is_rehearsal and os.environ.get(ALLOW_ENV) != "off"
        self._agent: AgentSpec
        self._spec: EventSpec
        self._event: Event
        self._payload: dict[str, Any]
        self._current: HookFunction | None = None
        self._pid = getpid()
        self._turn = allocate_lock()
        self._answers: list[Answer] = []
        self._notes: list[str] = []
        self._status = "ran"
        self._error: str | None = None

    def answer(self, payload: bytes) -> None:
        """Answer the event in a payload; the output gets the answer, or the reason for none."""
        try:
            is_for_functions = self._read_event(payload)
        except _UnreadableError as error:
            self._give_up(str(error))
            return
        except Exception as error:  # noqa: BLE001 - the file may have damaged anything
            self._give_up(f"the event cannot be read ({type(error).__name__})")
            return
        if is_for_functions:
            self._deliver(self._apply_approval(self._decide()))

    def _read_event(self, payload: bytes) -> bool:
        """Read the event; return whether functions can be for it.

        Raises:
            _UnreadableError: If there is none, or none that can be read.
        """
        from anyhook.agents.payloads import decode_event

        data, change = _parse(payload.removeprefix(BOM).decode("utf-8", "replace"))
        if not isinstance(data, dict):
            raise _UnreadableError("standard input holds no JSON object")
        if change:
            self._warnings.warn(change)
        agent_name = self._agent_name or recognize(data, os.environ)
        if agent_name is None:
            raise _UnreadableError(
                "the agent that sent this event is not recognized; use --agent NAME"
            )
        self._payload = data
        self._agent = get_agent(agent_name).form_of(data)
        self._event, problems = decode_event(self._agent, data)
        spec = self._agent.by_canonical.get(self._event.name)
        if spec is not None and spec.reads_all_output:
            self._warnings.hold()  # this agent takes any output for an answer, also on stderr
        for problem in problems:
            self._warnings.warn(problem.message)
        if spec is None:
            return False
        self._spec = spec
        return True

    def _decide(self) -> Answer:
        """Return the answer of the functions, or what the author chose for a crash."""

        def call(function: HookFunction, event: Any) -> Answer:
            from anyhook.authoring.functions import call_function, drop_wrong_fields, to_answer

            self._current = function
            result: Any = NO_OPINION
            problems: list[str] = []
            try:
                result = call_function(function, event)
                answer, problems = drop_wrong_fields(to_answer(function, result))
            # The answers of other functions still count.
            except BaseException as error:  # noqa: BLE001 - an interrupt or an exit is a crash too
                answer = self._keep_denial(result, error)
            self._notes += [f"{function.name}: {problem}" for problem in problems]
            self._answers.append(answer)
            return answer

        self._on_ready()
        # Less than the agent waits, if that is known.
        longest = self._longest()
        seconds = self._hooks.timeout
        if seconds is None:
            seconds = longest
        elif self._timeout:
            seconds = min(seconds, longest)
        # The agent's own time is over if a worker has run the functions, and they did not end.
        if self._elapsed >= max(seconds, longest):
            self._end_late()
        seconds = max(MIN_SECONDS, seconds - self._elapsed)
        try:
            with self._output.watch(seconds, self._end_late), Deadline(seconds, self._end_late):
                answer = self._hooks.decide(self._event, self._agent, call)
        except Exception as error:  # noqa: BLE001 - the author chose what a crash means
            denials = [answer for answer in self._answers if answer.outcome is Outcome.DENY]
            answer = self._keep_denial(denials[0] if denials else NO_OPINION, error)
        self._turn.acquire()  # from here on it is too late to be late
        return answer

    def _apply_approval(self, answer: Answer) -> Answer:
        """Return the answer to a denied call: no opinion if the user has allowed it once.

        Whatever goes wrong, the denial stands.
        """
        is_denied_call = answer.outcome is Outcome.DENY and self._event.name in CALL_EVENTS
        file = self._traces.file
        if not is_denied_call or self._is_shadow or not self._can_be_allowed or file is None:
            return answer
        turn = allocate_lock()

        def end_late() -> NoReturn:
            turn.acquire()
            self._deliver(answer)
            self._output.leave()

        applied = None
        release_signals = hold_write_signals()
        try:
            # The directory may be on a network that does not answer.
            with Deadline(APPROVAL_SECONDS, end_late):
                from anyhook.authoring.approval import apply_approval

                event: Any = self._event
                applied = apply_approval(
                    self._agent, event, answer, hook=file, name=self._hooks.name
                )
        except BaseException as error:  # noqa: BLE001 - the denial counts, and not its record
            _log_traceback(error)
        discard_write_signals()
        release_signals()
        turn.acquire()
        if applied is None:
            return answer
        self._traces.note, self._traces.denied_call = applied.note, applied.call
        if applied.call is not None:
            self._traces.decided = answer
        return applied.answer

    def _fit(self, answer: Answer) -> Answer:
        """Turn an answer into one that the agent can carry out, or count it as a crash."""
        if answer is NO_OPINION:
            return answer
        from anyhook.authoring.degrade import UnsupportedError, fit

        must_refuse = self._hooks.unsupported == "refuse"
        try:
            fitted, notes = fit(
                self._agent, self._event, answer, name=self._hooks.name, refuse=must_refuse
            )
        except UnsupportedError as error:
            rest = self._keep_denial(answer, error, f"is refused: {error}")
            fitted, notes = fit(self._agent, self._event, rest)
        self._notes += notes
        return fitted

    def _longest(self) -> float:
        """Return the part of the agent's own timeout that a hook may use, in seconds."""
        return (self._timeout or self._agent.command_timeout(self._spec)) * TIMEOUT_SHARE

    # -- failures

    def _keep_denial(self, answer: Answer, error: BaseException, problem: str = "") -> Answer:
        """Return the answer to a crash; an answer that denied still denies."""
        crash = self._answer_crash(error, problem)
        if getattr(answer, "outcome", None) is not Outcome.DENY:
            return crash
        return crash.replace(outcome=Outcome.DENY, reason=answer.reason)

    def _answer_crash(self, error: BaseException, problem: str = "") -> Answer:
        problem = problem or f"failed ({type(error).__name__})"
        if self._current is None:
            problem = f"hook {self._hooks.name} {problem}"
        else:
            problem = describe_crash(self._current, problem)
        _log_traceback(error)
        self._status, self._error = "failed", problem
        answer = self._hooks.answer_crash(problem, can_deny=self._spec.can_fail_closed)
        if answer.system_message is not None:
            self._notes.append(answer.system_message)
        return answer

    def _end_late(self) -> NoReturn:
        """Answer at the deadline in place of the functions, and end the process."""
        self._turn.acquire()  # for ever, if the functions or another thread have answered
        answer = self._answer_crash(TimeoutError("too slow"), LATE)
        self._status = "timed_out"
        if self._answers:
            from anyhook.model.sequence import combine_answers

            answer = combine_answers([*self._answers, answer])
        self._deliver(answer)
        self._output.leave()

    def _give_up(self, problem: str) -> None:
        """End without an answer: without an agent, exit codes are the only form of one."""
        name = self._hooks.name
        if self._is_shadow:
            self._warnings.warn(problem)
        elif self._hooks.on_crash == "deny":
            message = f"hook {name} blocked this: {problem}, and it must not fail"
            self._output.fail(FallbackExit(message=message, code=BLOCKING_EXIT), problem)
        else:
            message = f"anyhook: {name}: {problem}; it decided nothing"
            log_text(message)
            self._output.fail(FallbackExit(message=message, code=FAILURE_EXIT), problem)

    # -- output

    def _deliver(self, answer: Answer) -> None:
        """Hand the answer over; a denial that cannot be written becomes an exit code."""
        if getpid() != self._pid:  # a process that a function forked; the original answers
            exit_now(0)
        fallback = self._fallback(answer)
        try:
            try:
                reply = self._encode(self._fit(answer))
            except BaseException as error:  # noqa: BLE001 - values of the hook may raise anything
                reply = self._encode(self._fit(self._keep_denial(answer, error)))
        except BaseException as error:  # noqa: BLE001 - the hook may have damaged anything
            self._output.fail(fallback, type(error).__name__)
            return
        self._output.code = reply.code
        self._output.is_denial = reply.fallback.code == BLOCKING_EXIT
        passed = self._elapsed + time.perf_counter() - self._clock
        seconds = max(MIN_SECONDS, self._longest() - passed) * EXIT_SHARE
        self._output.exit_seconds = min(EXIT_SECONDS, seconds)
        self._output.write(reply.text, reply.fallback)

    def _encode(self, answer: Answer) -> _Reply:
        """Return what is delivered, and print what belongs to standard error."""
        notes, self._notes = self._notes, []
        for note in notes:
            self._warnings.warn(note)
        self._leave_traces_later(answer)
        if self._is_shadow:
            answer = NO_OPINION
        fallback = self._fallback(answer)
        message = None
        if answer.system_message is not None:
            from anyhook.agents.capabilities import stderr_message

            message = stderr_message(self._agent, self._spec.canonical, answer)
        if message is not None:
            answer = answer.replace(system_message=None)
        text = reply_bytes(self._agent, self._spec, answer)
        self._warnings.release(has_answer=bool(text))
        code = 0
        if message is not None:
            _print_warning(message)
            if text == self._spec.no_opinion_output.encode():
                text = b""
            # Exit code 2 is for a decision, not for a failure.
            if self._error is None:
                code = BLOCKING_EXIT
        return _Reply(text=text, code=code, fallback=fallback)

    def _leave_traces_later(self, answer: Answer) -> None:
        """Have the event recorded, and a denied call kept, when the answer is delivered."""
        traces = self._traces
        if traces.directory is None and traces.denied_call is None:
            return
        duration = time.perf_counter() - self._clock

        def leave_traces() -> None:
            with Deadline(RECORD_SECONDS, lambda: exit_now(self._output.code)):
                _write_trace(lambda: traces.keep_denied_call(self._event, answer))
                _write_trace(lambda: self._record(answer, duration))

        self._output.record = leave_traces

    def _record(self, answer: Answer, duration: float) -> None:
        directory = self._traces.directory
        if directory is None:
            return
        from anyhook.authoring.recording import record_hook

        run = self._traces.run(answer, duration, self._output.code, self._status, self._error)
        problem = record_hook(directory, self._agent, self._event, self._payload, run)
        if problem is not None:
            log_text(f"anyhook: {self._hooks.name}: {problem}")

    def _fallback(self, answer: Answer) -> FallbackExit:
        name = self._hooks.name
        if self._is_shadow:
            return FallbackExit(message=f"anyhook: {name} is a shadow", code=0)
        if answer.outcome is Outcome.DENY:
            return FallbackExit(
                message=answer.reason or f"blocked by hook {name}", code=BLOCKING_EXIT
            )
        message = f"anyhook: {name}: the answer is lost: {ERROR_FIELD}"
        return FallbackExit(message=message, code=FAILURE_EXIT)


class _Reply(Record):
    """What is delivered to the agent: a text for standard output, and an exit code.

    The fallback is what happens if the text cannot be delivered.
    """

    text: bytes
    code: int
    fallback: FallbackExit


class _Warnings:
    """What is reported to the author: in the log, and on standard error where that is safe."""

    def __init__(self, name: str, *, is_shadow: bool) -> None:
        self._name = name
        self._is_shadow = is_shadow
        self._held: list[str] = []
        # A copy of standard error, as long as what the process prints is discarded.
        self._stderr: int | None = None

    def warn(self, text: str) -> None:
        """Report something."""
        line = f"anyhook: {self._name}: {text}"
        log_text(line)
        if self._is_shadow:
            return
        if self._stderr is not None:
            self._held.append(line)
        else:
            _print_warning(line)

    def hold(self) -> None:
        """Discard what the process prints, and hold what is reported."""
        null = os.open(os.devnull, os.O_WRONLY)
        sys.stderr.flush()
        self._stderr = os.dup(2)
        for stream in (1, 2):
            os.dup2(null, stream)
        os.close(null)

    def release(self, *, has_answer: bool) -> None:
        """Print what was held, and what is printed from now on; without an answer, nothing."""
        if self._stderr is None:
            return
        if has_answer:
            sys.stderr.flush()
            os.dup2(self._stderr, 2)
        os.close(self._stderr)
        self._stderr = None
        if has_answer:
            for line in self._held:
                _print_warning(line)


class _Traces:
    """What an event leaves in the user's data directory: its record, and a denied call.

    Attributes:
        directory: The directory of the history; `None` if recording is off.
        file: The hook file, taken before the hook may change the module.
        note: What an approval adds to the record.
        denied_call: The call that is kept, so that the user can allow it.
        decided: What is recorded in place of the answer, which names another ID at each denial.
    """

    def __init__(self, name: str, *, is_shadow: bool) -> None:
        self._name = name
        self._is_shadow = is_shadow
        self.directory = recording_directory(os.environ)
        self._started = time.time()
        self.file: str | None = getattr(sys.modules.get("__main__"), "__file__", None)
        self.note = ""
        self.denied_call: DeniedCall | None = None
        self.decided: Answer | None = None

    def keep_denied_call(self, event: Any, answer: Answer) -> None:
        """Keep the denied call, if there is one, with the reason of the answer."""
        if self.denied_call is None:
            return
        from anyhook.authoring.approval import keep_denied_call

        keep_denied_call(self.denied_call, event, answer.reason or "")

    def run(
        self, answer: Answer, duration: float, exit_code: int, status: str, error: str | None
    ) -> FunctionRun:
        """Return what is recorded of the functions."""
        from anyhook.authoring.recording import FunctionRun

        return FunctionRun(
            hook=self._name,
            file=self.file,
            started=self._started,
            duration=duration,
            status=status,
            answer=self.decided or answer,
            exit_code=exit_code,
            error=error,
            shadow=self._is_shadow,
            note=self.note,
        )


def _write_trace(write: Callable[[], None]) -> None:
    """Write to the user's data directory, without a change of how the process ends."""
    release_signals = hold_write_signals()
    try:
        write()
    except Exception as error:  # noqa: BLE001 - the answer counts, and not the record
        _log_traceback(error)
    # The answer is delivered: a write that fails must not end the process.
    discard_write_signals()
    release_signals()


def _parse(text: str) -> tuple[Any, str | None]:
    """Return the event in a text, `None` if it holds no JSON, and what was changed in it.

    Most events are read without `anyhook.model.json`, which costs an import.
    """
    if text.count("[") + text.count("{") <= MAX_UNCHECKED_BRACKETS:
        try:
            return _decode(text), None
        except json.JSONDecodeError:
            return None, None
        except ValueError:  # a number that is too long for Python
            pass
    from anyhook.model.json import parse_event

    try:
        return parse_event(text)
    except ValueError:
        return None, None


def recording_directory(environ: Mapping[str, str]) -> str | None:
    """Return the directory of the history; `None` if the user has not switched recording on.

    It is `anyhook.journal.lines.is_recording` without the import of that module, and nothing but
    one `stat` on Linux. A test compares them.
    """
    if environ.get(RECORDED_ENV):
        return None
    data = environ.get("ANYHOOK_DATA_DIR")
    home = environ.get("HOME")
    if not data and home and sys.platform == "linux":
        data = f"{environ.get('XDG_DATA_HOME', '').strip() or f'{home}/.local/share'}/anyhook"
    if not data:
        from anyhook.files import data_path

        data = data_path(environ)
    try:
        os.stat(f"{data}/history/recording.json")
    except (OSError, ValueError):
        return None
    return f"{data}/history"


def _log_traceback(error: BaseException) -> None:
    """Write the traceback to the author's log file, and nowhere else."""
    if os.environ.get(LOG_ENV):
        try:
            import traceback

            log_text("".join(traceback.format_exception(error)))
        except Exception:  # noqa: BLE001 - the answer counts, and not the log
            return


def log_text(text: str) -> None:
    """Write lines to the file that `ANYHOOK_LOG` names; nowhere if it names none."""
    path = os.environ.get(LOG_ENV)
    if not path:
        return
    try:
        with open(path, "a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text if text.endswith("\n") else f"{text}\n")
    except Exception:  # noqa: BLE001 - the answer counts, and not the log
        return


def _leave(message: str) -> NoReturn:
    _print_warning(message)
    sys.exit(FAILURE_EXIT)


def _print_warning(message: str) -> None:
    """Write to standard error, if the process has one and it is read."""
    try:
        sys.stderr.write(message + "\n")
        sys.stderr.flush()
    except Exception:  # noqa: BLE001 - there is none, or the hook has replaced it
        return

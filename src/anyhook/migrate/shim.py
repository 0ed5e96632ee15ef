"""The shim: runs a command that was written for one agent under another one.

It reads the event that the host sends, gives the command the event of its own agent, and writes the
command's answer in the host's form. An agent starts it on every event, so it imports little. It is
one module because each further one costs 0.1 ms on every event.
"""

from __future__ import annotations

import os
import sys

from anyhook.agents import get_agent, recognize
from anyhook.errors import AnyhookError, UsageError
from anyhook.migrate.options import must_block, parse_shim_options
from anyhook.model.answers import BLOCKING_EXIT, FAILURE_EXIT, NO_OPINION, STRENGTH, Answer, Outcome
from anyhook.model.layers import Layer
from anyhook.model.record import Record
from anyhook.shell.variables import controls_shell, fit_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from anyhook.agents.output import HookOutput
    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.migrate.options import ShimOptions
    from anyhook.model.events import Event
    from anyhook.processes.result import ProcessResult

BOM = b"\xef\xbb\xbf"
# Seconds that the host may take to read a denial, which an exit code can express as well.
WRITE_TIMEOUT = 5.0
# Characters of a command in messages.
MAX_LABEL_LENGTH = 60
EXECUTABLE_SIGNATURES = (b"#!", b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
"""First bytes of files that the system runs by itself; others are scripts of the shell."""


def main(argv: Sequence[str]) -> int:
    """Run a command as its own agent would.

    Return its exit code. `anyhook.migrate.options` describes the arguments.
    """
    try:
        options = parse_shim_options(argv)
        source = get_agent(options.agent).form_with_event(options.event or "")
        host = get_agent(options.host) if options.host else None
        _check_options(options, source)
    except AnyhookError as error:
        code = BLOCKING_EXIT if must_block(argv) else FAILURE_EXIT
        return _exit_with(f"anyhook shim: {error}", code)
    if sys.stdin is not None and sys.stdin.isatty():
        return _exit_with(
            "anyhook shim: an agent gives it an event on standard input", FAILURE_EXIT
        )
    shim = _Shim(options, source)
    try:
        text = sys.stdin.buffer.read() if sys.stdin is not None else b""
    except OSError:
        text = b""
    try:
        exit_code = shim.serve(text, host)
    except Exception as error:  # noqa: BLE001 - the last boundary: no traceback for the model
        exit_code = shim.give_up(f"{type(error).__name__}: {error}")
    _write_stderr(shim.stderr)
    return exit_code


def _check_options(options: ShimOptions, source: AgentSpec) -> None:
    """Refuse options that fit no event of the agent: a typo must not switch a guard off."""
    if options.event:
        source.event(options.event)
    if options.shell and options.shell not in source.settings.shells:
        shells = ", ".join(source.settings.shells) or "none to choose from"
        raise UsageError(f"{source.title} has no shell {options.shell!r}; it has {shells}")
    if options.matcher:
        from anyhook.matching.matchers import compile_matcher

        problem = compile_matcher(options.matcher, "expression").problem
        if problem:
            raise UsageError(f"--matcher {options.matcher!r} is not a pattern: {problem}")


class _Exchange(Record):
    """One event, in the form of the host and in that of the command's agent."""

    host: AgentSpec
    host_event: Event
    host_spec: EventSpec
    """How the host treats its event."""
    event: Event
    spec: EventSpec
    """How the command's agent treats its event."""
    views: tuple[tuple[Event, bytes], ...] = ()
    """What the command is run on if the host is another agent: forms of the event, each with the
    text for standard input."""


class _Speaker:
    """The command, for the functions that read its output."""

    place = None
    layer = Layer.PROJECT

    def __init__(self, label: str) -> None:
        self.label = label


class _Shim:
    """Brings one event to the command, and its answer back."""

    def __init__(self, options: ShimOptions, source: AgentSpec) -> None:
        self.options = options
        self.source = source
        line = " ".join(options.command)
        is_short = len(line) <= MAX_LABEL_LENGTH
        self.label = line if is_short else line[: MAX_LABEL_LENGTH - 1] + "…"
        self.may_fail = options.on_failure != "block"
        self.denial: str | None = None
        """The reason of a denial, as soon as there is one."""
        self.can_deny = True
        """Whether a failure may deny the event."""
        self.exchange: _Exchange | None = None
        self.stderr = b""

    def give_up(self, reason: str) -> int:
        """Return an exit code in place of an answer; a denial is kept."""
        if self.denial is not None:
            return _exit_with(self.denial, BLOCKING_EXIT)
        if not self.may_fail and self.can_deny:
            return _exit_with(f"blocked: {self.label} gave no answer ({reason})", BLOCKING_EXIT)
        is_denial = self.exchange is not None and _denies_failures(self.exchange)
        exit_code = 0 if is_denial else FAILURE_EXIT
        return _exit_with(f"anyhook shim: {reason}; {self.label} was ignored", exit_code)

    def serve(self, text: bytes, host: AgentSpec | None) -> int:
        """Answer the event in a text; a host that is not given is recognized by the event."""
        from anyhook.model.json import parse_event, repair

        try:
            payload, change = parse_event(text.removeprefix(BOM).decode("utf-8", "replace"))
        except ValueError:
            payload, change = None, None
        if not isinstance(payload, dict):
            return self.give_up("standard input holds no JSON object")
        if host is None:
            name = recognize(payload, os.environ)
            if name is None:
                return self.give_up("cannot recognize the agent of this event; add --host NAME")
            host = get_agent(name)
        host = host.form_of(payload)
        # A command of the host itself gets the text unchanged.
        if change and host is not self.source:
            self._add_note(change)
        try:
            host_event, exchange = self._translate(payload, host)
        except RecursionError:
            host_event, exchange = self._translate(repair(payload), host)
        host_spec = host.by_canonical.get(host_event.name)
        if host_spec is None:
            return 0
        if exchange is None:
            return self._write_answer(host_spec.no_opinion_output.encode())
        return self._serve_exchange(exchange, text)

    def _translate(
        self, payload: dict[str, Any], host: AgentSpec
    ) -> tuple[Event, _Exchange | None]:
        """Return the event of the host, and the exchange if the command is for this event."""
        from anyhook.agents.payloads import decode_event, encode_event

        host_event, _ = decode_event(host, payload)
        host_spec = host.by_canonical.get(host_event.name)
        events = [host_event]
        if host is not self.source:
            from anyhook.agents.translate import single_calls, translate_event, views

            calls = single_calls(host_event, host)
            events = [translate_event(call, host, self.source) for call in calls]
        spec = self.source.by_canonical.get(events[0].name)
        if host_spec is None or spec is None:
            return host_event, None
        events = [event for event in events if self._is_meant(spec, event)]
        if not events:
            return host_event, None
        texts: list[tuple[Event, bytes]] = []
        if host is not self.source:
            for event in events:
                for view in views(event, self.source):
                    stdin = _dump_payload(encode_event(self.source, view))
                    texts.append((view, stdin + self.source.payload_terminator))
        exchange = _Exchange(
            host=host,
            host_event=host_event,
            host_spec=host_spec,
            event=events[0],
            spec=spec,
            views=tuple(texts),
        )
        return host_event, exchange

    def _serve_exchange(self, exchange: _Exchange, text: bytes) -> int:
        host, spec = exchange.host, exchange.spec
        self.exchange = exchange
        self.can_deny = spec.can_fail_closed
        env = self._environment(host, exchange.event)
        argv = self._argv(env)
        if argv is None:
            return self.give_up("there is no shell on the PATH")
        if self.options.background:
            # This shim starts again, as a process that outlives this one.
            from anyhook.migrate.options import write_options
            from anyhook.processes.blocking import start_detached

            foreground = self.options.replace(background=False)
            start = [sys.executable, "-P", "-m", "anyhook", "shim", *write_options(foreground)]
            start_detached(start, env=dict(os.environ), stdin=text)
            return self._write_answer(exchange.host_spec.no_opinion_output.encode())
        if host is self.source:
            end = self._run(argv, env, text)
        else:
            end, exchange = self._run_on_views(argv, env, exchange)
        self.stderr += end.stderr_bytes
        if end.stdout_truncated:
            size = len(end.stdout_bytes)
            self._add_note(
                f"{self.label} printed too much; the output after {size} bytes was ignored"
            )
        has_ended = end.error is None and not end.timed_out
        if host is self.source and has_ended and self.may_fail:
            return self._relay(end, spec)
        return self._answer(end, exchange)

    def _add_note(self, text: str) -> None:
        self.stderr += f"anyhook shim: {text}\n".encode("utf-8", "backslashreplace")

    # -- whether the command runs

    def _is_meant(self, spec: EventSpec, event: Event) -> bool:
        """Return whether the command is for this event."""
        options = self.options
        if options.event and options.event not in (spec.wire, spec.canonical):
            return False
        if options.matcher:
            from anyhook.matching.matchers import compile_matcher

            matcher = compile_matcher(options.matcher, spec.matcher_style)
            subject = spec.subject_of(event)
            if not matcher.matches_any(self.source.match_names(spec, subject)):
                return False
        if not options.condition:
            return True
        if not spec.supports_conditions:
            return False
        from anyhook.matching.conditions import compile_condition

        try:
            return compile_condition(options.condition).covers(
                getattr(event, "tool_name", ""),
                getattr(event, "tool_input", {}),
                cwd=_working_directory(event),
                project=_project(os.environ, self.source, event),
                home=os.path.expanduser("~"),
            )
        except Exception:  # noqa: BLE001 - a guard must run if its condition cannot be evaluated
            return True

    # -- running it

    def _environment(self, host: AgentSpec, event: Event) -> dict[str, str]:
        """Return the environment that the command's own agent would give it."""
        env = {name: value for name, value in os.environ.items() if not controls_shell(name)}
        values = {
            "project_dir": _project(env, host, event),
            "cwd": _working_directory(event),
            "session_id": event.session_id,
        }
        for name in host.hook_environment:
            if name not in self.source.hook_environment:
                env.pop(name, None)
        if "root" in self.source.hook_environment.values():
            from pathlib import Path

            from anyhook.settings.directories import find_root

            values["root"] = str(find_root(Path(values["project_dir"])))
        for name, value in self.source.hook_environment.items():
            if value == "hook_dir":
                continue  # the command has no settings file of its own agent
            is_event_value = value in values
            env[name] = fit_value(values[value]) if is_event_value else value.removeprefix("=")
        rules = self.source.settings.env_file
        if rules is not None and rules.variable not in env and event.name in rules.events:
            env[rules.variable] = os.devnull  # the host reads no such file; `>>` must not fail
        if self.options.env:
            from anyhook.handlers.environment import add_variables

            add_variables(env, dict(self.options.env))
        return env

    def _argv(self, env: Mapping[str, str]) -> list[str] | None:
        """Return the program to start with its arguments; `None` if there is no shell."""
        command = self.options.command
        if len(command) > 1:
            names = [*self.source.hook_environment, *dict(self.options.env)]
            argv: list[str] = []
            for word in command:
                # The agent itself replaces `${NAME}` in an argument.
                if self.source.settings.handler_types["command"].programs and "${" in word:
                    for name in names:
                        word = word.replace(f"${{{name}}}", env.get(name, ""))  # noqa: PLW2901
                argv.append(word)
            return argv
        line = command[0]
        if "/" in line and os.path.isfile(line) and _is_program(line):
            return [line]
        for program, *words in self.source.settings.shells.get(
            self.options.shell, self.source.settings.shell
        ):
            for directory in (*os.get_exec_path(), *os.get_exec_path(dict(env))):
                if not directory.startswith("/"):
                    continue
                path = os.path.join(directory, program)
                if os.path.isfile(path) and os.access(path, os.X_OK):
                    return [path, *words, line]
        return None

    def _run(self, argv: Sequence[str], env: Mapping[str, str], stdin: bytes) -> ProcessResult:
        from anyhook.processes.blocking import run_blocking
        from anyhook.processes.result import REPLY_LIMIT

        return run_blocking(
            argv,
            env=env,
            stdin=stdin,
            timeout=self.options.timeout,
            output_limit=REPLY_LIMIT,
        )

    def _run_on_views(
        self, argv: Sequence[str], env: Mapping[str, str], exchange: _Exchange
    ) -> tuple[ProcessResult, _Exchange]:
        """Run the command on every view of the event.

        Return the end with the strongest verdict, and the exchange of its view.
        """
        ends = [(view, self._run(argv, env, stdin)) for view, stdin in exchange.views]
        if len(ends) == 1:
            return ends[0][1], exchange

        def strength(run: tuple[Event, ProcessResult]) -> int:
            return STRENGTH[self._decode(run[1], exchange.spec).answer.outcome]

        view, end = max(ends, key=strength)
        return end, exchange.replace(event=view)

    # -- the answer

    def _answer(self, end: ProcessResult, exchange: _Exchange) -> int:
        """Give the host the answer of a command in the host's form."""
        blocks_on_failure = not self.may_fail and exchange.spec.can_fail_closed
        reason = end.error
        if reason is None and end.timed_out:
            reason = f"ran into its timeout of {self.options.timeout:g} s"
            numbers = ", ".join(map(str, end.survivors))
            if numbers:
                reason += f"; these of its processes could not be ended: {numbers}"
            else:
                reason += " and was ended"
        if reason is not None:
            if blocks_on_failure:
                return self._reply(_denial(f"{self.label} {reason}"), exchange)
            return self.give_up(reason)
        output = self._decode(end, exchange.spec)
        answer = output.answer
        is_cut_json = end.stdout_truncated and end.stdout_bytes.lstrip()[:1] == b"{"
        if answer.outcome is Outcome.DENY:
            self.denial = self._denial_reason(answer)
        elif (output.failed or end.stdout_truncated) and blocks_on_failure:
            setting = self.source.settings.fail_closed_text
            answer = _denial(f"hook {self.label!r} failed; blocking because {setting}")
        elif is_cut_json and exchange.spec.can_fail_closed:
            answer = _denial(f"{self.label} printed more than can be read, and it may be a denial")
        elif answer is NO_OPINION and output.status == "warned" and _may_fail(exchange):
            return FAILURE_EXIT
        # Such a host would take the text on standard error for an answer.
        if exchange.host_spec.reads_all_output:
            self.stderr = b""
        return self._reply(answer, exchange)

    def _relay(self, end: ProcessResult, spec: EventSpec) -> int:
        """Give the host the output of a command that was written for it, unchanged."""
        if end.exit_code is None:
            return self.give_up(f"ended by {end.signal}")
        try:
            self._print(end.stdout_bytes)
        except OSError as error:
            answer = self._decode(end, spec).answer
            if answer.outcome is Outcome.DENY:
                self.denial = self._denial_reason(answer)
                if end.exit_code == BLOCKING_EXIT:
                    return BLOCKING_EXIT
            elif end.exit_code:
                return end.exit_code
            return self.give_up(_describe_lost_output(error))
        return end.exit_code

    def _decode(self, end: ProcessResult, spec: EventSpec) -> HookOutput:
        from anyhook.agents.output import ProcessExit, decode_exit

        process_exit = ProcessExit(
            end.exit_code,
            end.signal,
            end.stdout,
            end.stderr,
            end.stdout_truncated,
        )
        speaker = _Speaker(self.label)
        return decode_exit(self.source, self.source.documented, spec, speaker, process_exit)

    def _denial_reason(self, answer: Answer) -> str:
        return answer.reason or f"blocked by {self.label}"

    def _reply(self, answer: Answer, exchange: _Exchange) -> int:
        from anyhook.agents.encode import reply_bytes

        host, host_spec = exchange.host, exchange.host_spec
        if answer is NO_OPINION:
            return self._write_answer(host_spec.no_opinion_output.encode())
        if answer.outcome is Outcome.DENY:
            self.denial = self._denial_reason(answer)
        notes: list[str] = []
        if host is not self.source:
            from anyhook.agents.translate import translate_answer
            from anyhook.authoring.degrade import fit

            answer, notes = translate_answer(
                answer, exchange.event, exchange.host_event, self.source, host
            )
            answer, more_notes = fit(host, exchange.host_event, answer)
            notes += more_notes
        text = reply_bytes(host, host_spec, answer)
        if not host_spec.reads_all_output:
            for note in notes:
                self._add_note(note)
        return self._write_answer(text)

    def _write_answer(self, text: bytes) -> int:
        try:
            self._print(text)
        except OSError as error:  # the host does not read; an exit code can still deny
            return self.give_up(_describe_lost_output(error))
        return 0

    def _print(self, text: bytes) -> None:
        if text and sys.stdout is None:
            raise OSError(9, "it is closed")
        timeout = None if self.denial is None else WRITE_TIMEOUT
        _write_all(1, text, timeout)


def _may_fail(exchange: _Exchange) -> bool:
    """Return whether a failure only warns in the host; some releases take it for a verdict."""
    host = exchange.host
    rules = host.newest_rules
    observed = rules.by_canonical.get(exchange.host_spec.canonical)
    takes_last_verdict = observed is not None and observed.allowance_cancels
    if exchange.host_spec.reads_all_output or takes_last_verdict:
        return False
    return not _denies_failures(exchange)


def _denies_failures(exchange: _Exchange) -> bool:
    """Return whether the host, by its reference or in a release, denies if a command fails."""
    from anyhook.agents.spec import OutputAction

    denials = (OutputAction.FAIL_CLOSED, OutputAction.DENY_TEXT, OutputAction.BLOCK)
    for rules in exchange.host.rule_sets.values():
        rule = rules.exit_rules_for(exchange.host_spec.canonical).rule_for(FAILURE_EXIT)
        if rule.text in denials or rule.empty in denials:
            return True
    return False


def _denial(reason: str) -> Answer:
    return Answer(outcome=Outcome.DENY, reason=reason)


def _describe_lost_output(error: OSError) -> str:
    return f"nothing can be written to standard output ({error.strerror})"


def _is_program(path: str) -> bool:
    """Return whether a file is executable without a shell."""
    if not os.access(path, os.X_OK):
        return False
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read(4).startswith(EXECUTABLE_SIGNATURES)
    except OSError:  # the user may run it, but not read it
        return False


def _working_directory(event: Event) -> str:
    return event.cwd or os.getcwd()


def _project(env: Mapping[str, str], host: AgentSpec, event: Event) -> str:
    """Return the directory of the project, from a variable of the host if it sets one."""
    for name, value in host.hook_environment.items():
        if value in ("project_dir", "root") and env.get(name):
            return env[name]
    return _working_directory(event)


def _dump_payload(payload: Mapping[str, Any]) -> bytes:
    from anyhook.model.json import dump_json, repair

    try:
        return dump_json(payload)
    except (TypeError, ValueError, RecursionError):
        return dump_json(repair(payload))


# -- standard streams


def _exit_with(message: str, exit_code: int) -> int:
    _write_stderr(message.encode("utf-8", "backslashreplace") + b"\n")
    return exit_code


def _write_stderr(text: bytes) -> None:
    if sys.stderr is not None:
        try:
            _write_all(2, text)
        except OSError:
            return


def _write_all(descriptor: int, text: bytes, timeout: float | None = None) -> None:
    """Write a text to a file descriptor, blocking or not.

    The timeout is in seconds, until the reader makes room; `None` for no limit.
    """
    must_wait = timeout is not None
    while text:
        if must_wait:
            import select

            poll = select.poll()
            poll.register(descriptor, select.POLLOUT)
            milliseconds = None if timeout is None else timeout * 1000
            if not poll.poll(milliseconds):
                raise TimeoutError(110, "the reader does not read it")
        # A pipe with any room has room for 512 bytes, so that writing them does not block.
        chunk = text[:512] if must_wait else text
        try:
            text = text[os.write(descriptor, chunk) :]
        except BlockingIOError:
            must_wait = True

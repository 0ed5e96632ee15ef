"""The shim: a command that was written for one agent runs under another one.

It reads the event that the host sends, shows the command the event of its own agent, and gives the
command's answer to the host in the host's form. An agent starts it on every event, so it imports
little.
"""

from __future__ import annotations

import os
import sys

from anyhook.agents import get_agent, recognise
from anyhook.errors import AnyhookError, UsageError
from anyhook.migrate.options import must_block, parse_options
from anyhook.model.answers import NO_OPINION, STRENGTH, Answer, Outcome
from anyhook.model.layers import Layer
from anyhook.shell.variables import controls_shell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from anyhook.agents.output import HookOutput
    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.migrate.options import ShimOptions
    from anyhook.model.events import Event
    from anyhook.processes.blocking import PlainEnd

BLOCKED = 2
"""The exit code that blocks in every agent when standard output is empty."""
FAILED = 1
"""The exit code that no agent takes for a denial."""
BOM = b"\xef\xbb\xbf"
PATIENCE = 5.0
"""Seconds that a host may take to read an answer that an exit code can give as well."""
VALUE_LIMIT = 100_000
"""Characters; the system starts no command with a longer variable (Linux: 128 KiB)."""
CODING_AGENTS = (b"#!", b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
"""How a file starts that the system runs by itself; any other one is a script of the shell."""


def main(argv: Sequence[str]) -> int:
    """Run a command as its own agent would.

    Args:
        argv: Arguments, as `anyhook.migrate.options` describes them.

    Returns:
        The exit code.
    """
    try:
        options = parse_options(argv)
        source = get_agent(options.agent)
        host = get_agent(options.host) if options.host else None
        _check(options, source)
    except AnyhookError as error:
        return _say(f"anyhook shim: {error}", BLOCKED if must_block(argv) else FAILED)
    if sys.stdin is not None and sys.stdin.isatty():
        return _say("anyhook shim: an agent gives it an event on standard input", FAILED)
    shim = _Shim(options, source)
    try:
        code = shim.serve(_read(), host)
    except Exception as error:  # noqa: BLE001 - the last boundary: no traceback for the model
        code = shim.give_up(f"{type(error).__name__}: {error}")
    _tell(shim.aside)
    return code


def _check(options: ShimOptions, source: AgentSpec) -> None:
    """Refuse what no event of the agent could ever mean: a guard must not be off by a slip."""
    if options.event:
        source.event(options.event)
    if options.shell and options.shell not in source.shells:
        known = ", ".join(source.shells) or "none to choose from"
        raise UsageError(f"{source.title} has no shell {options.shell!r}; it has {known}")
    if options.matcher:
        from anyhook.matching.matchers import compile_matcher

        problem = compile_matcher(options.matcher, "expression").problem
        if problem:
            raise UsageError(f"--matcher {options.matcher!r} is no pattern: {problem}")


def _read() -> bytes:
    try:
        return sys.stdin.buffer.read() if sys.stdin is not None else b""
    except OSError:
        return b""


def _say(message: str, code: int) -> int:
    _tell(message.encode("utf-8", "backslashreplace") + b"\n")
    return code


def _tell(text: bytes) -> None:
    """Write to standard error, if there is one that takes it."""
    if sys.stderr is not None:
        try:
            _put(2, text)
        except OSError:
            return


def _put(fd: int, text: bytes, patience: float | None = None) -> None:
    """Write all of a text.

    Args:
        fd: Where to.
        text: The text.
        patience: Seconds in which the reader has to make room.

    Raises:
        OSError: If nobody reads it.
    """
    must_wait = patience is not None
    while text:
        if must_wait:
            import select

            poll = select.poll()
            poll.register(fd, select.POLLOUT)
            if not poll.poll(None if patience is None else patience * 1000):
                raise TimeoutError(110, "nobody reads it")
        try:  # a pipe that has any room has it for the smallest piece
            text = text[os.write(fd, text[:512] if must_wait else text) :]
        except BlockingIOError:
            must_wait = True


class _Speaker:
    """Who said it, for the readers of output."""

    place = None
    layer = Layer.PROJECT

    def __init__(self, label: str) -> None:
        self.label = label


class _Shim:
    """One event on its way to a command and back."""

    def __init__(self, options: ShimOptions, source: AgentSpec) -> None:
        self.options = options
        self.source = source
        self.denied: str | None = None
        self.closes = True
        self.aside = b""
        line = " ".join(options.command)
        self.label = line if len(line) <= 60 else line[:59] + "…"

    @property
    def may_fail(self) -> bool:
        """Whether a failure of the command denies nothing."""
        return self.options.on_failure != "block"

    def give_up(self, why: str) -> int:
        """End without an answer; a denial that is known already is not lost."""
        if self.denied is not None:
            return _say(self.denied, BLOCKED)
        if self.options.on_failure == "block" and self.closes:
            return _say(f"blocked: {self.label} could not be asked ({why})", BLOCKED)
        return _say(f"anyhook shim: {why}; {self.label} had no say", FAILED)

    def serve(self, text: bytes, host: AgentSpec | None) -> int:
        """Answer the event in a text."""
        from anyhook.model.json import parse_event

        try:
            payload, change = parse_event(text.removeprefix(BOM).decode("utf-8", "replace"))
        except ValueError:
            payload, change = None, None
        if not isinstance(payload, dict):
            return self.give_up("standard input holds no JSON object")
        if host is None:
            found = recognise(payload, os.environ)
            if found is None:
                return self.give_up("nothing tells which agent sent this event; use --host NAME")
            host = get_agent(found)
        if change and host is not self.source:  # the host's own command gets the text as it is
            self._note(change)
        return self._serve(payload, text, host)

    def _serve(self, payload: dict[str, Any], text: bytes, host: AgentSpec) -> int:
        try:
            asked, shown, given = self._translate(payload, host)
        except RecursionError:
            from anyhook.model.json import repair

            asked, shown, given = self._translate(repair(payload), host)
        spec, target = self.source.by_canonical.get(shown.name), host.by_canonical.get(asked.name)
        if target is None:
            return 0
        if given is None or spec is None:
            return self._write(target.no_opinion_output.encode())
        self.closes = spec.can_fail_closed
        env = self._environment(host, shown)
        stdin = text
        argv = self._argv(env)
        if argv is None:
            return self.give_up("there is no shell on the PATH")
        if self.options.background:
            return self._leave_behind(text, target)
        if host is self.source:
            end = self._run(argv, env, stdin)
        else:
            end, shown = self._run_on_views(argv, env, shown, spec)
        self.aside += end.stderr
        if end.truncated:
            self._note(
                f"{self.label} printed too much; what was over {len(end.stdout)} bytes is lost"
            )
        if host is self.source and end.error is None and not end.timed_out and self.may_fail:
            return self._relay(end, spec)
        return self._answer(end, asked, shown, spec, host, target)

    def _run(self, argv: Sequence[str], env: Mapping[str, str], stdin: bytes) -> PlainEnd:
        from anyhook.processes.blocking import run_plain

        return run_plain(argv, env=env, stdin=stdin, timeout=self.options.timeout)

    def _run_on_views(
        self, argv: Sequence[str], env: Mapping[str, str], shown: Event, spec: EventSpec
    ) -> tuple[PlainEnd, Event]:
        """Run the command on all that there is to see; the strongest verdict counts."""
        from anyhook.agents.payloads import encode_event
        from anyhook.agents.translate import views

        best: tuple[PlainEnd, Event] | None = None
        strength = -1
        seen = views(shown, self.source)
        for view in seen:
            stdin = _dump(encode_event(self.source, view)) + self.source.payload_terminator
            end = self._run(argv, env, stdin)
            if len(seen) == 1:
                return end, shown
            said = STRENGTH[self._said(end, spec).answer.outcome]
            if said > strength:
                best, strength = (end, view), said
        return best or (end, shown)

    def _note(self, text: str) -> None:
        self.aside += f"anyhook shim: {text}\n".encode("utf-8", "backslashreplace")

    # -- towards the command

    def _translate(
        self, payload: dict[str, Any], host: AgentSpec
    ) -> tuple[Event, Event, Mapping[str, Any] | None]:
        """Return the event, as the command's agent sees it, and what the command is given."""
        from anyhook.agents.payloads import decode_event, encode_event
        from anyhook.agents.translate import translate_event

        asked, _ = decode_event(host, payload)
        shown = asked if host is self.source else translate_event(asked, host, self.source)
        spec = self.source.by_canonical.get(shown.name)
        if spec is None or not self._is_meant(spec, shown):
            return asked, shown, None
        return asked, shown, payload if host is self.source else encode_event(self.source, shown)

    def _is_meant(self, spec: EventSpec, shown: Event) -> bool:
        """Tell whether the command is for this event."""
        options = self.options
        if options.event and options.event not in (spec.wire, spec.canonical):
            return False
        if options.matcher and not self._matches(spec, shown):
            return False
        return not options.condition or (spec.supports_conditions and self._holds(shown))

    def _matches(self, spec: EventSpec, shown: Event) -> bool:
        from anyhook.matching.matchers import compile_matcher

        matcher = compile_matcher(self.options.matcher, spec.matcher_style)
        subject = getattr(shown, spec.subject, None) if spec.subject else None
        return any(matcher.matches(name) for name in self.source.match_names(spec, subject))

    def _holds(self, shown: Event) -> bool:
        from anyhook.matching.conditions import compile_condition

        try:
            return compile_condition(self.options.condition).covers(
                getattr(shown, "tool_name", ""),
                getattr(shown, "tool_input", {}),
                cwd=_here(shown),
                project=_project(os.environ, self.source, shown),
                home=os.path.expanduser("~"),  # noqa: PTH111 - no pathlib here
            )
        except Exception:  # noqa: BLE001 - a guard must not be lost because its condition cannot be told
            return True

    def _environment(self, host: AgentSpec, shown: Event) -> dict[str, str]:
        """Return the environment that the command's own agent would give it."""
        env = {name: value for name, value in os.environ.items() if not controls_shell(name)}
        known = {
            "project_dir": _project(env, host, shown),
            "cwd": _here(shown),
            "session_id": shown.session_id,
        }
        for name in host.hook_environment:
            if name not in self.source.hook_environment:
                env.pop(name, None)
        for name, what in self.source.hook_environment.items():
            env[name] = _fitting(known[what]) if what in known else what.removeprefix("=")
        rules = self.source.env_file
        if rules is not None and rules.variable not in env and shown.name in rules.events:
            env[rules.variable] = os.devnull  # the host reads no such file; `>>` must not fail
        if self.options.env:
            from anyhook.handlers.environment import add_own

            add_own(env, dict(self.options.env))
        return env

    def _argv(self, env: Mapping[str, str]) -> list[str] | None:
        command = self.options.command
        if len(command) > 1:
            return [self._filled(word, env) for word in command]
        line = command[0]
        if "/" in line and os.path.isfile(line) and _is_program(line):  # noqa: PTH113
            return [line]
        for program, *words in self.source.shells.get(self.options.shell, self.source.shell):
            for directory in (*os.get_exec_path(), *os.get_exec_path(dict(env))):
                if not directory.startswith("/"):
                    continue
                path = os.path.join(directory, program)  # noqa: PTH118 - no pathlib here
                if os.path.isfile(path) and os.access(path, os.X_OK):  # noqa: PTH113
                    return [path, *words, line]
        return None

    def _filled(self, word: str, env: Mapping[str, str]) -> str:
        """Put in what `${name}` stands for, where the agent itself does so in arguments."""
        if self.source.handler_types["command"].programs and "${" in word:
            for name in (*self.source.hook_environment, *(key for key, _ in self.options.env)):
                word = word.replace(f"${{{name}}}", env.get(name, ""))
        return word

    def _leave_behind(self, text: bytes, target: EventSpec) -> int:
        """Start this shim again, without anybody who waits for it."""
        from anyhook.migrate.options import write_options
        from anyhook.processes.blocking import start_detached

        waiting = self.options.replace(background=False)
        argv = [sys.executable, "-P", "-m", "anyhook", "shim", *write_options(waiting)]
        start_detached(argv, env=dict(os.environ), stdin=text)
        return self._write(target.no_opinion_output.encode())

    # -- towards the host

    def _answer(  # noqa: PLR0917 - one answer, and whom it is from and for
        self,
        end: PlainEnd,
        asked: Event,
        shown: Event,
        spec: EventSpec,
        host: AgentSpec,
        target: EventSpec,
    ) -> int:
        if end.error is not None or end.timed_out:
            why = end.error or self._why_late(end)
            if not self.may_fail and spec.can_fail_closed:
                return self._reply(_denial(f"{self.label} {why}"), asked, shown, host, target)
            return self.give_up(why)
        said = self._said(end, spec)
        answer = said.answer
        if answer.outcome is Outcome.DENY:
            self.denied = answer.reason or f"blocked by {self.label}"
        elif (said.failed or end.truncated) and not self.may_fail and spec.can_fail_closed:
            answer = _denial(f'hook {self.label!r} failed; blocking because onFailure is "block"')
        elif end.truncated and end.stdout.lstrip()[:1] == b"{" and spec.can_fail_closed:
            answer = _denial(f"{self.label} said more than can be read, and it may be a denial")
        elif answer is NO_OPINION and said.status == "warned" and self._may_fail(host, target):
            return FAILED
        if (
            target.reads_all_output
        ):  # an agent that takes any output for an answer must not see this
            self.aside = b""
        return self._reply(answer, asked, shown, host, target)

    def _why_late(self, end: PlainEnd) -> str:
        late = f"ran into its timeout of {self.options.timeout:g} s"
        if not end.survivors:
            return f"{late} and was ended"
        numbers = ", ".join(map(str, end.survivors))
        return f"{late}; these of its processes could not be ended: {numbers}"

    def _relay(self, end: PlainEnd, spec: EventSpec) -> int:
        """Give the host what its own kind of command said, to the byte."""
        if end.code is None:
            return self.give_up(f"ended by signal {end.signal}")
        try:
            self._print(end.stdout)
        except OSError as error:  # an exit code is the last way to say it
            answer = self._said(end, spec).answer
            if answer.outcome is not Outcome.DENY:
                return end.code or self.give_up(_lost(error))
            self.denied = answer.reason or f"blocked by {self.label}"
            return BLOCKED if end.code == BLOCKED else self.give_up(_lost(error))
        return end.code

    def _said(self, end: PlainEnd, spec: EventSpec) -> HookOutput:
        from anyhook.agents.output import ProcessExit, decode_exit

        text = ProcessExit(
            end.code,
            None if end.signal is None else f"signal {end.signal}",
            end.stdout.decode("utf-8", "replace"),
            end.stderr.decode("utf-8", "replace"),
            end.truncated,
        )
        speaker = _Speaker(self.label)
        return decode_exit(self.source, self.source.documented, spec, speaker, text)

    def _may_fail(self, host: AgentSpec, target: EventSpec) -> bool:
        """Tell whether a failure does no more than warn: some agents take it for an allowance."""
        observed = host.rule_sets.get("observed", host.documented).by_canonical.get(
            target.canonical
        )
        return not target.reads_all_output and (
            observed is None or observed.verdict_policy != "last"
        )

    def _reply(
        self, answer: Answer, asked: Event, shown: Event, host: AgentSpec, target: EventSpec
    ) -> int:
        from anyhook.agents.replies import reply_bytes

        if answer is NO_OPINION:
            return self._write(target.no_opinion_output.encode())
        if answer.outcome is Outcome.DENY:
            self.denied = answer.reason or f"blocked by {self.label}"
        notes: list[str] = []
        if host is not self.source:
            from anyhook.agents.translate import translate_answer
            from anyhook.authoring.degrade import fit

            answer, notes = translate_answer(answer, shown, asked, self.source, host)
            answer, more = fit(host, asked, answer)
            notes += more
        text = reply_bytes(host, target, answer)
        for note in () if target.reads_all_output else notes:
            self._note(note)
        return self._write(text)

    def _write(self, text: bytes) -> int:
        try:
            self._print(text)
        except OSError as error:  # nobody reads the answer; an exit code is the last way to deny
            return self.give_up(_lost(error))
        return 0

    def _print(self, text: bytes) -> None:
        if text and sys.stdout is None:
            raise OSError(9, "it is closed")
        _put(1, text, None if self.denied is None else PATIENCE)


def _lost(error: OSError) -> str:
    return f"nothing can be written to standard output ({error.strerror})"


def _is_program(path: str) -> bool:
    """Tell whether a file may be run, and needs no shell for that."""
    if not os.access(path, os.X_OK):
        return False
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - no pathlib here
            return file.read(4).startswith(CODING_AGENTS)
    except OSError:  # it may be run, but not be read
        return False


def _fitting(value: str) -> str:
    """Make something of a payload fit into an environment."""
    if "\0" not in value and len(value) <= VALUE_LIMIT:
        if value.isascii():
            return value
        try:
            if len(os.fsencode(value)) <= VALUE_LIMIT:
                return value
        except UnicodeEncodeError:  # half a character
            pass
    encoded = value.replace("\0", "").encode("utf-8", "replace")[:VALUE_LIMIT]
    return encoded.decode("utf-8", "ignore")


def _here(shown: Event) -> str:
    return shown.cwd or os.getcwd()  # noqa: PTH109 - no pathlib here


def _denial(reason: str) -> Answer:
    return Answer(outcome=Outcome.DENY, reason=reason)


def _project(env: Mapping[str, str], host: AgentSpec, shown: Event) -> str:
    """Return the directory of the project, as the host tells it."""
    names = (name for name, what in host.hook_environment.items() if what == "project_dir")
    return next((env[name] for name in names if env.get(name)), _here(shown))


def _dump(payload: Mapping[str, Any]) -> bytes:
    from anyhook.model.json import dump_json, repair

    try:
        return dump_json(payload)
    except (TypeError, ValueError, RecursionError):
        return dump_json(repair(payload))

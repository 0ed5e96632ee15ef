"""The shim: a command that was written for one agent runs under another one.

It reads the event that the host sends, shows the command the event of its own agent, and gives the
command's answer to the host in the host's form. An agent starts it on every event, so it imports
little.
"""

from __future__ import annotations

import json
import os
import sys

from anyhook.dialects import get_dialect, recognise
from anyhook.errors import AnyhookError
from anyhook.migrate.options import parse_options
from anyhook.model.answers import NO_OPINION, Answer, Outcome
from anyhook.model.layers import Layer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from anyhook.dialects.base import Dialect, EventSpec
    from anyhook.dialects.output import Said
    from anyhook.handlers.process_plain import PlainEnd
    from anyhook.migrate.options import ShimOptions
    from anyhook.model.events import Event

BLOCKED = 2
"""The exit code that blocks in every agent when standard output is empty."""
FAILED = 1
"""The exit code that no agent takes for a denial."""


def main(argv: Sequence[str]) -> int:
    """Run a command as its own agent would.

    Args:
        argv: Arguments, as `anyhook.migrate.options` describes them.

    Returns:
        The exit code.
    """
    try:
        options = parse_options(argv)
        source = get_dialect(options.agent)
        host = get_dialect(options.host) if options.host else None
    except AnyhookError as error:
        return _say(f"anyhook shim: {error}", FAILED)
    if sys.stdin is not None and sys.stdin.isatty():
        return _say("anyhook shim: an agent gives it an event on standard input", FAILED)
    shim = _Shim(options, source)
    try:
        return shim.serve(_read(), host)
    except Exception as error:  # noqa: BLE001 - the last boundary: no traceback for the model
        return shim.give_up(f"{type(error).__name__}: {error}")


def _read() -> bytes:
    try:
        return sys.stdin.buffer.read() if sys.stdin is not None else b""
    except OSError:
        return b""


def _say(message: str, code: int) -> int:
    sys.stderr.write(message + "\n")
    return code


class _Speaker:
    """Who said it, for the readers of output."""

    place = None
    layer = Layer.PROJECT

    def __init__(self, label: str) -> None:
        self.label = label


class _Shim:
    """One event on its way to a command and back."""

    def __init__(self, options: ShimOptions, source: Dialect) -> None:
        self.options = options
        self.source = source
        self.denied: str | None = None
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
        if self.options.on_failure == "block":
            return _say(f"blocked: {self.label} could not be asked ({why})", BLOCKED)
        return _say(f"anyhook shim: {why}; {self.label} had no say", FAILED)

    def serve(self, text: bytes, host: Dialect | None) -> int:
        """Answer the event in a text."""
        from anyhook.dialects.payload import decode_event
        from anyhook.dialects.translate import translate_event

        try:
            payload = json.loads(text.decode("utf-8-sig", "replace"))
        except (ValueError, RecursionError):
            return self.give_up("standard input holds no JSON")
        if not isinstance(payload, dict):
            return self.give_up("standard input holds no JSON object")
        if host is None:
            found = recognise(payload, os.environ)
            if found is None:
                return self.give_up("nothing tells which agent sent this event; use --host NAME")
            host = get_dialect(found)
        asked, _ = decode_event(host, payload)
        shown = asked if host is self.source else translate_event(asked, host, self.source)
        spec, target = self.source.by_canonical.get(shown.name), host.by_canonical.get(asked.name)
        if target is None:
            return 0
        if spec is None or not self._is_meant(spec, shown):
            return self._write(target.silence.encode())
        env = self._environment(host, shown)
        given = payload if host is self.source else self._payload(shown)
        stdin = _dump(given) + self.source.payload_end
        argv = self._argv(env)
        if argv is None:
            return self.give_up("there is no shell on the PATH")
        if self.options.background:
            return self._leave_behind(text, target)
        from anyhook.handlers.process_plain import run_plain

        end = run_plain(argv, env=env, stdin=stdin, timeout=self.options.timeout)
        if host is self.source and end.error is None and not end.timed_out and self.may_fail:
            return self._relay(end)
        return self._answer(end, asked, shown, spec, host, target)

    # -- towards the command

    def _is_meant(self, spec: EventSpec, shown: Event) -> bool:
        """Tell whether the command is for this event."""
        options = self.options
        if options.event and options.event not in (spec.wire, spec.canonical):
            return False
        if options.matcher and not self._matches(spec, shown):
            return False
        return not options.condition or (spec.conditions and self._holds(shown))

    def _matches(self, spec: EventSpec, shown: Event) -> bool:
        from anyhook.model.matching import compile_matcher

        matcher = compile_matcher(self.options.matcher, spec.style)
        return matcher.matches(getattr(shown, spec.subject, None) if spec.subject else None)

    def _holds(self, shown: Event) -> bool:
        from anyhook.model.conditions import compile_condition

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

    def _payload(self, shown: Event) -> dict[str, Any]:
        from anyhook.dialects.payload import encode_event

        return encode_event(self.source, shown)

    def _environment(self, host: Dialect, shown: Event) -> dict[str, str]:
        """Return the environment that the command's own agent would give it."""
        env = dict(os.environ)
        known = {
            "project_dir": _project(env, host, shown),
            "cwd": _here(shown),
            "session_id": shown.session_id,
        }
        for name in host.environment:
            if name not in self.source.environment:
                env.pop(name, None)
        for name, what in self.source.environment.items():
            env[name] = known[what] if what in known else what.removeprefix("=")
        return env | dict(self.options.env)

    def _argv(self, env: Mapping[str, str]) -> list[str] | None:
        command = self.options.command
        if len(command) > 1:
            return [self._filled(word, env) for word in command]
        line = command[0]
        if "/" in line and os.path.isfile(line) and os.access(line, os.X_OK):  # noqa: PTH113
            return [line]
        for program, *words in self.source.shells.get(self.options.shell, self.source.shell):
            for directory in os.get_exec_path(dict(env)):
                path = os.path.join(directory, program)  # noqa: PTH118 - no pathlib here
                if os.path.isfile(path) and os.access(path, os.X_OK):  # noqa: PTH113
                    return [path, *words, line]
        return None

    def _filled(self, word: str, env: Mapping[str, str]) -> str:
        """Put in what `${name}` stands for, where the agent itself does so in arguments."""
        if self.source.types["command"].programs and "${" in word:
            for name in (*self.source.environment, *(key for key, _ in self.options.env)):
                word = word.replace(f"${{{name}}}", env.get(name, ""))
        return word

    def _leave_behind(self, text: bytes, target: EventSpec) -> int:
        """Start this shim again, without anybody who waits for it."""
        from anyhook.handlers.process_plain import start_detached
        from anyhook.migrate.options import write_options

        waiting = self.options.replace(background=False)
        argv = [sys.executable, "-m", "anyhook", "shim", *write_options(waiting)]
        start_detached(argv, env=dict(os.environ), stdin=text)
        return self._write(target.silence.encode())

    # -- towards the host

    def _answer(  # noqa: PLR0917 - one answer, and whom it is from and for
        self,
        end: PlainEnd,
        asked: Event,
        shown: Event,
        spec: EventSpec,
        host: Dialect,
        target: EventSpec,
    ) -> int:
        if end.error is not None or end.timed_out:
            why = end.error or f"ran into its timeout of {self.options.timeout:g} s and was ended"
            if self.options.on_failure == "block" and spec.closes:
                return self._reply(_denial(f"{self.label} {why}"), asked, shown, host, target)
            return self.give_up(why)
        said = self._said(end, spec)
        answer = said.answer
        if answer.outcome is Outcome.DENY:
            self.denied = answer.reason or f"blocked by {self.label}"
        elif said.failed and self.options.on_failure == "block" and spec.closes:
            answer = _denial(f"{self.label} failed, and it must not")
        elif answer is NO_OPINION and said.status == "warned" and self._may_fail(host, target):
            sys.stderr.write(end.stderr.decode("utf-8", "replace"))
            return FAILED
        if target.silence:  # an agent that takes any output for an answer must not see this
            sys.stderr.write(end.stderr.decode("utf-8", "replace"))
        return self._reply(answer, asked, shown, host, target)

    def _relay(self, end: PlainEnd) -> int:
        """Give the host what its own kind of command said, to the byte."""
        sys.stderr.buffer.write(end.stderr)
        sys.stderr.flush()
        if end.code is None:
            return self.give_up(f"ended by signal {end.signal}")
        code = self._write(end.stdout)
        return code or end.code

    def _said(self, end: PlainEnd, spec: EventSpec) -> Said:
        from anyhook.dialects.output import Exit, decode_exit

        text = Exit(
            end.code,
            None if end.signal is None else f"signal {end.signal}",
            end.stdout.decode("utf-8", "replace"),
            end.stderr.decode("utf-8", "replace"),
            end.truncated,
        )
        speaker = _Speaker(self.label)
        return decode_exit(self.source, self.source.documented, spec, speaker, text)

    def _may_fail(self, host: Dialect, target: EventSpec) -> bool:
        """Tell whether a failure does no more than warn: some agents take it for an allowance."""
        observed = host.rules.get("observed", host.documented).by_canonical.get(target.canonical)
        return bool(target.silence) and (observed is None or observed.verdict != "last")

    def _reply(
        self, answer: Answer, asked: Event, shown: Event, host: Dialect, target: EventSpec
    ) -> int:
        from anyhook.dialects.reply import reply_bytes

        if answer is NO_OPINION:
            return self._write(target.silence.encode())
        if answer.outcome is Outcome.DENY:
            self.denied = answer.reason or f"blocked by {self.label}"
        notes: list[str] = []
        if host is not self.source:
            from anyhook.authoring.degrade import fit
            from anyhook.dialects.translate import translate_answer

            answer, notes = translate_answer(answer, shown, asked, self.source, host)
            answer, more = fit(host, asked, answer)
            notes += more
        text = reply_bytes(host, target, answer)
        for note in notes if target.silence else ():
            sys.stderr.write(f"anyhook shim: {note}\n")
        return self._write(text)

    def _write(self, text: bytes) -> int:
        try:
            while text:
                text = text[os.write(1, text) :]
        except OSError as error:  # nobody reads the answer; an exit code is the last way to deny
            return self.give_up(f"the answer is lost: {error.strerror}")
        return 0


def _here(shown: Event) -> str:
    return shown.cwd or os.getcwd()  # noqa: PTH109 - no pathlib here


def _denial(reason: str) -> Answer:
    return Answer(outcome=Outcome.DENY, reason=reason)


def _project(env: Mapping[str, str], host: Dialect, shown: Event) -> str:
    """Return the directory of the project, as the host tells it."""
    names = (name for name, what in host.environment.items() if what == "project_dir")
    return next((env[name] for name in names if env.get(name)), _here(shown))


def _dump(payload: Mapping[str, Any]) -> bytes:
    from anyhook.model.json import dump_json, repair

    try:
        return dump_json(payload)
    except (TypeError, ValueError, RecursionError):
        return dump_json(repair(payload))

"""Handlers that are commands: a line for the shell, or a program with arguments."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio

from anyhook.dialects.output import TOO_LONG, Exit, decode_exit, event_tools, report_unused
from anyhook.handlers.base import failed
from anyhook.handlers.environment import add_own, expand, make_fit
from anyhook.handlers.plain import fill, find_direct, leaves_alone, passes_signals, plain_words
from anyhook.handlers.process import ProcessResult, run_process
from anyhook.handlers.shell import find_shell, refer, wanted_shells
from anyhook.model.decisions import HandlerResult, Status
from anyhook.model.diagnostics import diagnose
from anyhook.model.shell_variables import controls_shell
from anyhook.warm.commands import PROGRAM, read_command

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyhook.dialects.output import Said
    from anyhook.handlers.base import Firing
    from anyhook.model.definitions import HandlerSpec
    from anyhook.model.diagnostics import Diagnostic
    from anyhook.warm.commands import HookCommand


NO_SHELL = "there is no shell on the PATH"


async def run_command(firing: Firing, handler: HandlerSpec) -> HandlerResult:
    """Run a command with the event on its standard input, and read what it says.

    One that nobody waits for is handed to the background, and says nothing now.
    """
    background = firing.services.background
    if handler.background and background is not None:
        started = time.perf_counter() - firing.epoch
        background.start(firing, handler, _run_in_background)
        return HandlerResult(handler, Status.STARTED, started=started)
    return await _run_to_end(firing, handler)


async def _run_in_background(firing: Firing, handler: HandlerSpec) -> HandlerResult:
    firing = replace(firing, withhold=firing.withhold_in_background)
    return firing.withhold(handler) or await _run_to_end(firing, handler)


async def _run_to_end(firing: Firing, handler: HandlerSpec) -> HandlerResult:
    env, repaired = command_environment(firing, handler)
    if handler.forbidden and handler.forbidden in (handler.command or ""):
        why = f"{handler.forbidden}…}} stands only in the arguments of a program (args)"
        return failed(firing, handler, why)
    argv = command_line(firing, handler, env)
    if argv is None:
        return failed(firing, handler, NO_SHELL)
    limiter = firing.limiter()
    has_waited = False
    try:
        limiter.acquire_nowait()  # saves a turn of the event loop when there is room
    except anyio.WouldBlock:
        await limiter.acquire()
        has_waited = True
    try:
        withheld = firing.withhold(handler) if has_waited else None
        if withheld is not None:
            return withheld
        started = time.perf_counter()
        end = None
        command = _warm_command(firing, handler, argv, env)
        if command is not None:
            end = await _run_warm(firing, handler, command, env)
            withheld = firing.withhold(handler) if end is None else None
            if withheld is not None:
                return withheld
        if end is None:
            end = await _run_cold(firing, handler, argv, env, started)
    finally:
        limiter.release()
    return _result(firing, handler, end, started - firing.epoch, repaired)


async def _run_cold(
    firing: Firing, handler: HandlerSpec, argv: list[str], env: dict[str, str], started: float
) -> ProcessResult:
    """Run a command as a process, in what is left of its time: a worker may have tried before."""
    spent = time.perf_counter() - started
    if spent >= handler.timeout:
        return ProcessResult(timed_out=True, duration=spent)
    direct = find_direct(argv, env, firing.cwd) if handler.argv is None else None
    return await run_process(
        argv,
        cwd=firing.cwd,
        env=env,
        stdin=lambda: firing.payload,
        timeout=handler.timeout - spent,
        output_limit=firing.output_limit,
        direct=direct,
    )


def _warm_command(
    firing: Firing, handler: HandlerSpec, argv: list[str], env: dict[str, str]
) -> HookCommand | None:
    """Return the hook file that a command runs; `None` if it is none, or no worker is wanted."""
    if firing.services.leases is None:
        return None
    words = _words_of_line(argv, env) if handler.argv is None else argv
    return read_command(words) if words else None


async def _run_warm(
    firing: Firing, handler: HandlerSpec, command: HookCommand, env: dict[str, str]
) -> ProcessResult | None:
    """Run a hook file on a worker; `None` if it must run as a process."""
    leases = firing.services.leases
    if leases is None:
        return None
    if handler.argv is None:
        env = {**env, "PWD": firing.cwd}  # a shell would have set it
    return await leases.run(
        command,
        cwd=firing.cwd,
        env=env,
        stdin=firing.payload,
        timeout=handler.timeout,
        output_limit=firing.output_limit,
        may_run=lambda: firing.withhold(handler) is None,
    )


def _words_of_line(argv: list[str], env: dict[str, str]) -> list[str] | None:
    """Split a shell's command line if it may run a hook file, and the shell does no more to it."""
    if len(argv) != 3 or argv[1] != "-c" or PROGRAM[0] not in argv[2] or not passes_signals():
        return None
    line = argv[2]
    before, found = _words.get(line, (None, None))
    if before != env:
        words = plain_words(line)
        found = fill(words, env) if words is not None and leaves_alone(env) else None
        if len(_words) >= REMEMBERED:
            _words.clear()
        _words[line] = dict(env), found
    return found


REMEMBERED = 64
_words: dict[str, tuple[dict[str, str], list[str] | None]] = {}
"""Line of a shell to the variables that it was read with last, and what it came to."""


def command_environment(
    firing: Firing, handler: HandlerSpec
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the whole environment of a command: inherited, the agent's own, the hook's.

    Returns:
        The environment, and the names of variables whose values had to be changed to fit.
    """
    env, repaired = firing.environ(handler.layer)
    if firing.services.env_files is not None:
        env |= firing.services.env_files.variables(firing, handler)
    own = [n for n in dict.fromkeys((*handler.variables, *handler.env)) if not controls_shell(n)]
    if own:
        env.update(handler.variables)
        add_own(env, handler.env)
        own = [name for name in own if name in env]
        repaired = tuple(name for name in repaired if name not in own) + make_fit(env, own)
    return env, repaired


def command_line(firing: Firing, handler: HandlerSpec, env: dict[str, str]) -> list[str] | None:
    """Return program and arguments, or `None` if there is no shell."""
    if handler.argv is not None and firing.dialect.types["command"].programs:
        return [_filled(word, env, firing, handler) for word in handler.argv]
    if handler.argv is not None:
        told = {name: env[name] for name in (*firing.dialect.environment, *handler.variables)}
        return [expand(word, told) for word in handler.argv]
    wanted = wanted_shells(firing.dialect, handler)
    # The host's own PATH comes first: what a hook sets is for the programs that its line starts.
    paths = (firing.host_environ.get("PATH"), env.get("PATH"))
    shell = find_shell(wanted, *paths)
    return [*shell, refer(handler.command or "", handler.variables)] if shell else None


def _filled(word: str, env: dict[str, str], firing: Firing, handler: HandlerSpec) -> str:
    """Put in what `${name}` stands for, as plain text; nothing else is a placeholder."""
    names = (*firing.dialect.environment, *handler.variables)
    known = {**{name: env[name] for name in names}, **handler.placeholders}
    return _PLACEHOLDER.sub(lambda match: known.get(match[1], match[0]), word)


_PLACEHOLDER = re.compile(r"\$\{([\w.-]+)\}")


def _result(
    firing: Firing,
    handler: HandlerSpec,
    end: ProcessResult,
    started: float,
    repaired: tuple[str, ...],
) -> HandlerResult:
    if end.error is not None:
        return failed(firing, handler, end.error)
    notes = tuple(_notes(firing, handler, end, repaired))
    if end.timed_out:
        unused = report_unused(firing.dialect, firing.rules, firing.spec, handler, end.stdout)
        base = failed(
            firing,
            handler,
            _why_late(handler, end),
            status=Status.TIMED_OUT,
            notes=(*notes, *unused),
        )
        status, answer, found, error = base.status, base.answer, base.diagnostics, base.error
        has_failed = True
    else:
        said = _read(firing, handler, end)
        status, answer, has_failed = said.status, said.answer, said.failed
        found = (*notes, *said.diagnostics)
        error = TOO_LONG if status is Status.FAILED else None
    return HandlerResult(
        handler,
        status,
        answer,
        exit_code=end.exit_code,
        signal=end.signal,
        started=started,
        duration=end.duration,
        stdout=end.stdout,
        stderr=end.stderr,
        truncated=end.stdout_truncated or end.stderr_truncated,
        error=error,
        diagnostics=found,
        failed=has_failed,
    )


def _why_late(handler: HandlerSpec, end: ProcessResult) -> str:
    late = f"ran into its timeout of {handler.timeout:g} s"
    if not end.survivors:
        return f"{late} and was ended"
    numbers = ", ".join(map(str, end.survivors))
    return f"{late}; these of its processes could not be ended: {numbers}"


def _read(firing: Firing, handler: HandlerSpec, end: ProcessResult) -> Said:
    """Read the end of a command; hooks mostly say what they said before."""
    whose = (handler, firing.spec, firing.rules, firing.dialect)
    said_now = (end.exit_code, end.signal, end.stdout, end.stderr, end.stdout_truncated)
    tools = event_tools(firing.spec, firing.given)
    key = (*map(id, whose), said_now, tools)
    known = _said.get(key)
    if known is not None:
        return known[1]
    said = decode_exit(
        firing.dialect, firing.rules, firing.spec, handler, Exit(*said_now), tools=tools
    )
    values = said.answer.__dict__.values()
    if len(end.stdout) + len(end.stderr) <= LONGEST and all(
        value is None or isinstance(value, str | bool) for value in values
    ):  # nothing of it can be changed by who gets it
        if len(_said) >= REMEMBERED:
            _said.clear()
        _said[key] = whose, said  # as long as they live, nothing else has their numbers
    return said


LONGEST = 2048
"""Characters of an output that is remembered."""
_said: dict[tuple[object, ...], tuple[tuple[object, ...], Said]] = {}
"""Who said what on which event, to what it means."""


def _notes(
    firing: Firing, handler: HandlerSpec, end: ProcessResult, repaired: tuple[str, ...]
) -> Iterator[Diagnostic]:
    for code, message in _remarks(firing, end, repaired):
        text = f"{handler.label!r} on {firing.spec.wire}: {message}"
        yield diagnose(code, text, handler.place, handler=handler.label)


def _remarks(
    firing: Firing, end: ProcessResult, repaired: tuple[str, ...]
) -> Iterator[tuple[str, str]]:
    if firing.payload_problem is not None:
        what = f"the event is no plain JSON ({firing.payload_problem})"
        yield "payload-repaired", f"{what}; what JSON does not have was left out"
    if repaired:
        what = f"{', '.join(repaired)} cannot be held by an environment as it is"
        yield "variable-repaired", f"{what}; it was cut"
    if str(firing.event.cwd or firing.cwd) != firing.cwd:
        what = f"the directory {firing.event.cwd!r} is not there"
        yield "missing-cwd", f"{what}; it ran in {firing.cwd!r}"
    if end.stdout_truncated:
        yield "output-truncated", "standard output was too long and is cut"
    if end.stderr_truncated:
        yield "output-truncated", "standard error was too long and is cut"
    if end.held_open:
        what = "a process that it left behind kept its output open and was cut off"
        yield "held-pipe", f"{what}; redirect the output of background processes (>/dev/null 2>&1)"

"""Handlers that are commands: a line for the shell, or a program with arguments."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio

from anyhook.agents.output import TOO_LONG, ProcessExit, decode_exit, event_tools, report_unused
from anyhook.handlers.base import failed
from anyhook.handlers.environment import add_own, expand, sanitize_env
from anyhook.model.decisions import HandlerResult, Status
from anyhook.model.diagnostics import diagnose
from anyhook.processes.process import ProcessResult, run_process
from anyhook.shell.path_variables import find_shell, quote_path_variables
from anyhook.shell.plain import fill, find_direct, passes_signals, plain_words, shell_preserves_env
from anyhook.shell.variables import controls_shell
from anyhook.worker.commands import PROGRAM, read_command

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyhook.agents.output import HookOutput
    from anyhook.handlers.base import HookContext
    from anyhook.model.definitions import HandlerSpec
    from anyhook.model.diagnostics import Diagnostic
    from anyhook.worker.commands import HookCommand


NO_SHELL = "there is no shell on the PATH"


async def run_command(context: HookContext, handler: HandlerSpec) -> HandlerResult:
    """Run a command with the event on its standard input, and read what it says.

    One that nobody waits for is handed to the background, and says nothing now.
    """
    background = context.services.background
    if handler.background and background is not None:
        started = time.perf_counter() - context.epoch
        background.start(context, handler, _run_in_background)
        return HandlerResult(handler, Status.STARTED, started=started)
    return await _run_to_end(context, handler)


async def _run_in_background(context: HookContext, handler: HandlerSpec) -> HandlerResult:
    context = replace(context, withhold=context.withhold_in_background)
    return context.withhold(handler) or await _run_to_end(context, handler)


async def _run_to_end(context: HookContext, handler: HandlerSpec) -> HandlerResult:
    env, repaired = command_environment(context, handler)
    if handler.forbidden and handler.forbidden in (handler.command or ""):
        why = f"{handler.forbidden}…}} stands only in the arguments of a program (args)"
        return failed(context, handler, why)
    argv = command_line(context, handler, env)
    if argv is None:
        return failed(context, handler, NO_SHELL)
    limiter = context.limiter()
    has_waited = False
    try:
        limiter.acquire_nowait()  # saves a turn of the event loop when there is room
    except anyio.WouldBlock:
        await limiter.acquire()
        has_waited = True
    try:
        withheld = context.withhold(handler) if has_waited else None
        if withheld is not None:
            return withheld
        started = time.perf_counter()
        end = None
        command = _warm_command(context, handler, argv, env)
        if command is not None:
            end = await _run_warm(context, handler, command, env)
            withheld = context.withhold(handler) if end is None else None
            if withheld is not None:
                return withheld
        if end is None:
            end = await _run_cold(context, handler, argv, env, started)
    finally:
        limiter.release()
    return _result(context, handler, end, started - context.epoch, repaired)


async def _run_cold(
    context: HookContext, handler: HandlerSpec, argv: list[str], env: dict[str, str], started: float
) -> ProcessResult:
    """Run a command as a process, in what is left of its time: a worker may have tried before."""
    spent = time.perf_counter() - started
    if spent >= handler.timeout:
        return ProcessResult(timed_out=True, duration=spent)
    direct = find_direct(argv, env, context.cwd) if handler.argv is None else None
    return await run_process(
        argv,
        cwd=context.cwd,
        env=env,
        stdin=lambda: context.payload,
        timeout=handler.timeout - spent,
        output_limit=context.output_limit,
        direct=direct,
    )


def _warm_command(
    context: HookContext, handler: HandlerSpec, argv: list[str], env: dict[str, str]
) -> HookCommand | None:
    """Return the hook file that a command runs; `None` if it is none, or no worker is wanted."""
    if context.services.leases is None:
        return None
    words = _words_of_line(argv, env) if handler.argv is None else argv
    return read_command(words) if words else None


async def _run_warm(
    context: HookContext, handler: HandlerSpec, command: HookCommand, env: dict[str, str]
) -> ProcessResult | None:
    """Run a hook file on a worker; `None` if it must run as a process."""
    leases = context.services.leases
    if leases is None:
        return None
    if handler.argv is None:
        env = {**env, "PWD": context.cwd}  # a shell would have set it
    return await leases.run(
        command,
        cwd=context.cwd,
        env=env,
        stdin=context.payload,
        timeout=handler.timeout,
        output_limit=context.output_limit,
        may_run=lambda: context.withhold(handler) is None,
    )


def _words_of_line(argv: list[str], env: dict[str, str]) -> list[str] | None:
    """Split a shell's command line if it may run a hook file, and the shell does no more to it."""
    if len(argv) != 3 or argv[1] != "-c" or PROGRAM[0] not in argv[2] or not passes_signals():
        return None
    line = argv[2]
    before, found = _words.get(line, (None, None))
    if before != env:
        words = plain_words(line)
        found = fill(words, env) if words is not None and shell_preserves_env(env) else None
        if len(_words) >= REMEMBERED:
            _words.clear()
        _words[line] = dict(env), found
    return found


REMEMBERED = 64
_words: dict[str, tuple[dict[str, str], list[str] | None]] = {}
"""Line of a shell to the variables that it was read with last, and what it came to."""


def command_environment(
    context: HookContext, handler: HandlerSpec
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the whole environment of a command: inherited, the agent's own, the hook's.

    Returns:
        The environment, and the names of variables whose values had to be changed to fit.
    """
    env, repaired = context.environ(handler.layer)
    if context.services.env_files is not None:
        env |= context.services.env_files.variables(context, handler)
    own = [n for n in dict.fromkeys((*handler.variables, *handler.env)) if not controls_shell(n)]
    if own:
        env.update(handler.variables)
        add_own(env, handler.env)
        own = [name for name in own if name in env]
        repaired = tuple(name for name in repaired if name not in own) + sanitize_env(env, own)
    return env, repaired


def command_line(
    context: HookContext, handler: HandlerSpec, env: dict[str, str]
) -> list[str] | None:
    """Return program and arguments, or `None` if there is no shell."""
    if handler.argv is not None and context.agent.handler_types["command"].programs:
        return [_filled(word, env, context, handler) for word in handler.argv]
    if handler.argv is not None:
        told = {name: env[name] for name in (*context.agent.hook_environment, *handler.variables)}
        return [expand(word, told) for word in handler.argv]
    wanted = context.agent.shells_for(handler.options.get("shell", ""))
    # The host's own PATH comes first: what a hook sets is for the programs that its line starts.
    paths = (context.host_environ.get("PATH"), env.get("PATH"))
    shell = find_shell(wanted, *paths)
    return (
        [*shell, quote_path_variables(handler.command or "", handler.variables)] if shell else None
    )


def _filled(word: str, env: dict[str, str], context: HookContext, handler: HandlerSpec) -> str:
    """Put in what `${name}` stands for, as plain text; nothing else is a placeholder."""
    names = (*context.agent.hook_environment, *handler.variables)
    known = {**{name: env[name] for name in names}, **handler.placeholders}
    return _PLACEHOLDER.sub(lambda match: known.get(match[1], match[0]), word)


_PLACEHOLDER = re.compile(r"\$\{([\w.-]+)\}")


def _result(
    context: HookContext,
    handler: HandlerSpec,
    end: ProcessResult,
    started: float,
    repaired: tuple[str, ...],
) -> HandlerResult:
    if end.error is not None:
        return failed(context, handler, end.error)
    notes = tuple(_notes(context, handler, end, repaired))
    if end.timed_out:
        unused = report_unused(context.agent, context.rules, context.spec, handler, end.stdout)
        base = failed(
            context,
            handler,
            _why_late(handler, end),
            status=Status.TIMED_OUT,
            notes=(*notes, *unused),
        )
        status, answer, found, error = base.status, base.answer, base.diagnostics, base.error
        has_failed = True
    else:
        said = _read(context, handler, end)
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


def _read(context: HookContext, handler: HandlerSpec, end: ProcessResult) -> HookOutput:
    """Read the end of a command; hooks mostly say what they said before."""
    whose = (handler, context.spec, context.rules, context.agent)
    said_now = (end.exit_code, end.signal, end.stdout, end.stderr, end.stdout_truncated)
    tools = event_tools(context.spec, context.given)
    key = (*map(id, whose), said_now, tools)
    known = _said.get(key)
    if known is not None:
        return known[1]
    said = decode_exit(
        context.agent, context.rules, context.spec, handler, ProcessExit(*said_now), tools=tools
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
_said: dict[tuple[object, ...], tuple[tuple[object, ...], HookOutput]] = {}
"""Who said what on which event, to what it means."""


def _notes(
    context: HookContext, handler: HandlerSpec, end: ProcessResult, repaired: tuple[str, ...]
) -> Iterator[Diagnostic]:
    for code, message in _remarks(context, end, repaired):
        text = f"{handler.label!r} on {context.spec.wire}: {message}"
        yield diagnose(code, text, handler.place, handler=handler.label)


def _remarks(
    context: HookContext, end: ProcessResult, repaired: tuple[str, ...]
) -> Iterator[tuple[str, str]]:
    if context.payload_problem is not None:
        what = f"the event is no plain JSON ({context.payload_problem})"
        yield "payload-repaired", f"{what}; what JSON does not have was left out"
    if repaired:
        what = f"{', '.join(repaired)} cannot be held by an environment as it is"
        yield "variable-repaired", f"{what}; it was cut"
    if str(context.event.cwd or context.cwd) != context.cwd:
        what = f"the directory {context.event.cwd!r} is not there"
        yield "missing-cwd", f"{what}; it ran in {context.cwd!r}"
    if end.stdout_truncated:
        yield "output-truncated", "standard output was too long and is cut"
    if end.stderr_truncated:
        yield "output-truncated", "standard error was too long and is cut"
    if end.held_open:
        what = "a process that it left behind kept its output open and was cut off"
        yield "held-pipe", f"{what}; redirect the output of background processes (>/dev/null 2>&1)"

"""Handlers that are commands: a line for the shell, or a program with arguments."""

from __future__ import annotations

import shutil
import time
from functools import lru_cache
from typing import TYPE_CHECKING

import anyio

from anyhook.dialects.output import Exit, decode_exit, report_unused
from anyhook.handlers.base import failed
from anyhook.handlers.environment import expand
from anyhook.handlers.process import run_process
from anyhook.handlers.shell import refer
from anyhook.model.decisions import HandlerResult, Status
from anyhook.model.diagnostics import diagnose

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyhook.handlers.base import Firing
    from anyhook.handlers.process import ProcessResult
    from anyhook.model.definitions import HandlerSpec
    from anyhook.model.diagnostics import Diagnostic


async def run_command(firing: Firing, handler: HandlerSpec) -> HandlerResult:
    """Run a command with the event on its standard input, and read what it says."""
    try:
        payload = firing.payload
    except (TypeError, ValueError) as error:
        return failed(firing, handler, f"the event cannot be written as JSON: {error}")
    env = command_environment(firing, handler)
    argv = command_line(firing, handler, env)
    if argv is None:
        return failed(firing, handler, "there is no shell on the PATH")
    try:
        firing.limiter.acquire_nowait()  # saves a turn of the event loop when there is room
    except anyio.WouldBlock:
        await firing.limiter.acquire()
    try:
        started = time.perf_counter()
        end = await run_process(
            argv, cwd=firing.cwd, env=env, stdin=payload, timeout=handler.timeout
        )
    finally:
        firing.limiter.release()
    return _result(firing, handler, end, started - firing.epoch)


def command_environment(firing: Firing, handler: HandlerSpec) -> dict[str, str]:
    """Return the whole environment of a command: inherited, the agent's own, the hook's."""
    known = {
        "project_dir": str(firing.project_dir),
        "cwd": firing.event.cwd or firing.cwd,
        "session_id": firing.event.session_id,
    }
    env = dict(firing.environ)
    env.update({name: known[what] for name, what in firing.dialect.environment.items()})
    env.update(handler.variables)
    env.update({name: expand(text, env) for name, text in handler.env.items()})
    return env


def command_line(firing: Firing, handler: HandlerSpec, env: dict[str, str]) -> list[str] | None:
    """Return program and arguments, or `None` if there is no shell."""
    if handler.argv is not None:
        told = {name: env[name] for name in (*firing.dialect.environment, *handler.variables)}
        return [expand(word, told) for word in handler.argv]
    shell = _find_shell(firing.dialect.shell, env.get("PATH"))
    return [*shell, refer(handler.command or "", handler.variables)] if shell else None


@lru_cache(maxsize=32)
def _find_shell(
    candidates: tuple[tuple[str, ...], ...], path: str | None
) -> tuple[str, ...] | None:
    for program, *options in candidates:
        found = shutil.which(program, path=path)
        if found:
            return (found, *options)
    return None


def _result(
    firing: Firing, handler: HandlerSpec, end: ProcessResult, started: float
) -> HandlerResult:
    if end.error is not None:
        return failed(firing, handler, end.error)
    notes = tuple(_notes(firing, handler, end))
    if end.timed_out:
        unused = report_unused(firing.dialect, firing.spec, handler, end.stdout)
        base = failed(
            firing,
            handler,
            f"ran into its timeout of {handler.timeout:g} s and was ended",
            status=Status.TIMED_OUT,
            notes=(*notes, *unused),
        )
        status, answer, found, error = base.status, base.answer, base.diagnostics, base.error
    else:
        parsed = Exit(end.exit_code, end.signal, end.stdout, end.stderr, end.stdout_truncated)
        status, answer, problems = decode_exit(
            firing.dialect, firing.rules, firing.spec, handler, parsed
        )
        found, error = (*notes, *problems), None
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
    )


def _notes(firing: Firing, handler: HandlerSpec, end: ProcessResult) -> Iterator[Diagnostic]:
    told = (
        (
            firing.event.cwd not in ("", firing.cwd),
            "missing-cwd",
            f"the directory {firing.event.cwd!r} is not there; it ran in {firing.cwd!r}",
        ),
        (end.stdout_truncated, "output-truncated", "standard output was too long and is cut"),
        (end.stderr_truncated, "output-truncated", "standard error was too long and is cut"),
        (
            end.held_open,
            "held-pipe",
            (
                "a process that it left behind kept its output open and was ended; redirect the "
                "output of background processes (>/dev/null 2>&1)"
            ),
        ),
    )
    for applies, code, message in told:
        if applies:
            text = f"{handler.label!r} on {firing.spec.wire}: {message}"
            yield diagnose(code, text, handler.place, handler=handler.label)

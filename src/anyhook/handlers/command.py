"""Handlers that are commands: a line for the shell, or a program with arguments."""

from __future__ import annotations

import os
import re
import time
from functools import partial
from typing import TYPE_CHECKING

import anyio

from anyhook.agents.output import TOO_LONG, ProcessExit, decode_exit, event_tools, report_unused
from anyhook.handlers.background import Job
from anyhook.handlers.context import HOOK_DIR
from anyhook.handlers.environment import add_variables, fill_in_variables, sanitize_env
from anyhook.handlers.hook_commands import find_hook_command
from anyhook.handlers.results import failed_result, note, payload_notes, timeout_message
from anyhook.handlers.session_variables import FileKey
from anyhook.handlers.warm import run_warm
from anyhook.model.decisions import HandlerResult, Status
from anyhook.model.layers import Layer
from anyhook.model.record import replace
from anyhook.processes.result import ProcessResult
from anyhook.processes.run import run_process
from anyhook.shell.path_variables import quote_path_variables
from anyhook.shell.programs import find_shell
from anyhook.shell.variables import controls_shell

if TYPE_CHECKING:
    from anyhook.handlers.context import HookContext
    from anyhook.model.definitions import HandlerSpec
    from anyhook.model.diagnostics import Diagnostic

NO_SHELL = "there is no shell on the PATH"
_PLACEHOLDER = re.compile(r"\$\{([\w.-]+)\}")


async def run_command(context: HookContext, handler: HandlerSpec) -> HandlerResult:
    """Run a command with the event on its standard input, and decode its output.

    A background command is started and its result is collected later.
    """
    background = context.services.background
    if not handler.background or background is None:
        return await _run_to_end(context, handler)
    started = time.perf_counter() - context.epoch
    own_context = replace(context, withhold=context.withhold_in_background)

    async def run() -> HandlerResult:
        return own_context.withhold(handler) or await _run_to_end(own_context, handler)

    background.start(Job(handler.label, run, fail=partial(failed_result, context, handler)))
    return HandlerResult(handler, Status.STARTED, started=started)


async def _run_to_end(context: HookContext, handler: HandlerSpec) -> HandlerResult:
    if handler.forbidden and handler.forbidden in (handler.command or ""):
        error = f"{handler.forbidden}…}} stands only in the arguments of a program (args)"
        return failed_result(context, handler, error)
    env, repaired = command_environment(context, handler)
    argv = command_line(context, handler, env)
    if argv is None:
        return failed_result(context, handler, NO_SHELL)
    limiter = context.limiter()
    try:
        limiter.acquire_nowait()  # saves a turn of the event loop when there is room
    except anyio.WouldBlock:
        await limiter.acquire()
        has_waited = True
    else:
        has_waited = False
    try:
        # While it waited, the files of the hook may have changed.
        withheld = context.withhold(handler) if has_waited else None
        if withheld is not None:
            return withheld
        started = time.perf_counter()
        cwd = context.directory_of(handler)
        process = None
        hook_command = find_hook_command(context, handler, argv, env)
        if hook_command is not None:
            process = await run_warm(
                hook_command,
                cwd=cwd,
                # A shell would have set it.
                env={**env, "PWD": cwd} if handler.argv is None else env,
                stdin=context.payload,
                timeout=handler.timeout,
                output_limit=context.output_limit,
            )
            withheld = context.withhold(handler) if process is None else None
            if withheld is not None:
                return withheld
        # What is left of its time: a worker may have tried before.
        spent = time.perf_counter() - started
        if process is None and spent >= handler.timeout:
            process = ProcessResult(timed_out=True, duration=spent)
        if process is None:
            process = await run_process(
                argv,
                cwd=cwd,
                env=env,
                stdin=context.payload,
                timeout=handler.timeout - spent,
                output_limit=context.output_limit,
            )
    finally:
        limiter.release()
    return _make_result(context, handler, process, started - context.epoch, repaired)


# -- environment and arguments


def command_environment(
    context: HookContext, handler: HandlerSpec
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the whole environment of a command: inherited, set by the agent, set by the hook.

    Also return the names of variables whose values had to be changed to be valid.
    """
    env, repaired = context.environ(handler.layer)
    services, env_file = context.services, context.agent.settings.env_file
    if services.env_files is not None and env_file is not None:
        session = str(context.event.session_id or "")
        key = FileKey(session, context.spec.canonical, handler.identity)
        env |= services.env_files.variables(env_file, key, context.epoch)
    env.update(handler.variables)
    for name, source in context.agent.hook_environment.items():
        if source == HOOK_DIR and handler.layer is not Layer.MANAGED:
            env[name] = os.path.dirname(handler.place.file)  # noqa: PTH120 - a text is needed
    protected = context.agent.protected_environment & env.keys()
    set_by_agent = {name: env[name] for name in protected}
    add_variables(env, handler.env, expands=context.rules.expands_handler_env)
    env.update(set_by_agent)
    own = dict.fromkeys((*handler.variables, *handler.env))
    own_names = [name for name in own if name in env and not controls_shell(name)]
    if own_names:
        inherited = [name for name in repaired if name not in own_names]
        repaired = (*inherited, *sanitize_env(env, own_names))
    return env, repaired


def command_line(
    context: HookContext, handler: HandlerSpec, env: dict[str, str]
) -> list[str] | None:
    """Return program and arguments, or `None` if there is no shell."""
    if handler.argv is not None:
        names = (*context.agent.hook_environment, *handler.variables)
        values = {name: env[name] for name in names if name in env}
        if context.agent.settings.handler_types["command"].programs:
            values |= handler.placeholders

            def resolve(match: re.Match[str]) -> str:
                return values.get(match[1], match[0])  # other placeholders stay as they are

            return [_PLACEHOLDER.sub(resolve, word) for word in handler.argv]
        return [fill_in_variables(word, values) for word in handler.argv]
    # The host's own PATH comes first: what a hook sets is for the programs that its line starts.
    shell = find_shell(
        context.agent.settings.shells_for(handler.options.get("shell", "")),
        context.host_environ.get("PATH"),
        env.get("PATH"),
    )
    if shell is None:
        return None
    return [*shell, quote_path_variables(handler.command or "", handler.variables)]


# -- the result


def _make_result(
    context: HookContext,
    handler: HandlerSpec,
    process: ProcessResult,
    started: float,
    repaired: tuple[str, ...],
) -> HandlerResult:
    if process.error is not None:
        return failed_result(context, handler, process.error)
    notes = _report_run(context, handler, process, repaired)
    if process.timed_out:
        notes += report_unused(context.agent, context.rules, context.spec, handler, process.stdout)
        subject = timeout_message(handler)
        error = f"{subject} and was ended"
        if process.survivors:
            numbers = ", ".join(map(str, process.survivors))
            error = f"{subject}; these of its processes could not be ended: {numbers}"
            subject += ", with processes that could not be ended"
        result = failed_result(
            context,
            handler,
            error,
            status=Status.TIMED_OUT,
            notes=tuple(notes),
            subject=subject,
        )
    else:
        output = decode_exit(
            context.agent,
            context.rules,
            context.spec,
            handler,
            ProcessExit(
                process.exit_code,
                process.signal,
                process.stdout,
                process.stderr,
                process.stdout_truncated,
            ),
            tools=event_tools(context.spec, context.event),
        )
        result = HandlerResult(
            handler,
            output.status,
            output.answer,
            error=TOO_LONG if output.status is Status.FAILED else None,
            diagnostics=(*notes, *output.diagnostics),
            failed=output.failed,
            reply=output.reply,
        )
    return replace(
        result,
        exit_code=process.exit_code,
        signal=process.signal,
        started=started,
        duration=process.duration,
        stdout=process.stdout,
        stderr=process.stderr,
        truncated=process.stdout_truncated or process.stderr_truncated,
    )


def _report_run(
    context: HookContext, handler: HandlerSpec, process: ProcessResult, repaired: tuple[str, ...]
) -> list[Diagnostic]:
    """Report what was changed, cut or closed so that a command could run to its end."""
    notes = [*payload_notes(context, handler)]

    def report(code: str, message: str) -> None:
        notes.append(note(code, context, handler, message))

    if repaired:
        report(
            "variable-repaired",
            f"{', '.join(repaired)}: not a valid environment value, and was truncated",
        )
    if handler.cwd is None and str(context.event.cwd or context.cwd) != context.cwd:
        report(
            "missing-cwd",
            f"the directory {context.event.cwd!r} does not exist; it ran in {context.cwd!r}",
        )
    if process.stdout_truncated:
        report("output-truncated", "standard output was too long and is cut")
    if process.stderr_truncated:
        report("output-truncated", "standard error was too long and is cut")
    if process.held_open:
        report(
            "held-pipe",
            "a process that it left behind kept its output open and was killed; redirect the "
            "output of background processes (>/dev/null 2>&1)",
        )
    return notes

"""Run hooks without an agent: in this process, or as the process that an agent would start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook.agents import get_agent
from anyhook.agents.capabilities import shows_stderr, stderr_message
from anyhook.agents.encode import encode_answer
from anyhook.agents.output import ProcessExit, decode_exit
from anyhook.agents.payloads import decode_event
from anyhook.agents.spec.rules import REFUSED_INPUT
from anyhook.authoring.degrade import fit
from anyhook.authoring.functions import call_function, drop_wrong_fields, to_answer
from anyhook.authoring.hooks import Hooks
from anyhook.authoring.load import load_hooks
from anyhook.authoring.process_exit import Deadline
from anyhook.errors import UsageError
from anyhook.journal.records import RECORDED, REHEARSAL
from anyhook.model.answers import BLOCKING_EXIT, NO_OPINION, Answer, Outcome
from anyhook.model.definitions import HandlerSpec
from anyhook.model.diagnostics import Place
from anyhook.model.events import ToolEvent
from anyhook.model.layers import Layer
from anyhook.model.record import Record
from anyhook.testing.events import make_payload

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyhook.agents.spec import AgentSpec
    from anyhook.authoring.functions import HookFunction
    from anyhook.authoring.hooks import Example
    from anyhook.model.diagnostics import Diagnostic

PROCESS_TIMEOUT = 60.0
"""Seconds."""
EXAMPLE_TIMEOUT = 30.0
"""Seconds, for hooks without a timeout of their own."""


class HookRun(Record, kw_only=False):
    """The result of running a hook on one event.

    Attributes:
        agent: Name of the agent.
        payload: The payload on standard input.
        answer: The answer as the agent understands the reply.
        reply: The JSON of the reply; `None` if there was none.
        stdout: Standard output.
        stderr: Standard error.
        exit_code: The exit code; negative for a signal.
        notes: What was done instead of something that the agent cannot do.
        diagnostics: What the agent would ignore in the reply.
    """

    agent: str
    payload: Mapping[str, Any]
    answer: Answer
    reply: Mapping[str, Any] | None
    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0
    notes: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def outcome(self) -> str:
        """The outcome: `deny`, `ask`, `defer`, `allow` or `none`."""
        return str(self.answer.outcome)

    @property
    def reason(self) -> str:
        """The reason of the outcome; empty if there is none."""
        return self.answer.reason or self.answer.stop_reason or ""


def run_hook(
    hook: Hooks | str | os.PathLike[str],
    event: str | Mapping[str, Any],
    *,
    agent: str = "claude",
    process: bool = False,
    environ: Mapping[str, str] | None = None,
    **fields: Any,
) -> HookRun:
    """Run a hook on one event, as an agent would.

    Args:
        hook: Path of a hook file, or its `Hooks`.
        event: Name of the event, canonical or the agent's; or a whole payload.
        agent: Name of the agent.
        process: Run the file as a process. Otherwise its functions are called in this process.
        environ: Environment of the process; by default the one of this process.
        fields: Fields of a named event, as `make_payload` takes them: `tool`, `input`, `prompt`, …

    Returns:
        What the hook answered, and how the agent understands it.

    Raises:
        UsageError: If the file is not a hook file, or `process` is set for `Hooks`.
        UnknownNameError: If there is no such agent, or it has no such event.
        EventError: If the event has no such field.
        UnsupportedError: If hooks that are called in this process refuse what the agent lacks
            (`Hooks(unsupported="refuse")`).
        subprocess.TimeoutExpired: If the process runs longer than 60 seconds.
        Exception: Any exception of a function that is called in this process.
    """
    payload = make_payload(event, agent=agent, **fields) if isinstance(event, str) else dict(event)
    spec = get_agent(agent).form_of(payload)
    if not process:
        hooks = hook if isinstance(hook, Hooks) else load_hooks(hook)
        return _call_functions(hooks, spec, payload, shadow=hooks.shadow)
    if isinstance(hook, Hooks):
        raise UsageError("a process needs a file: give its path")
    if not Path(hook).is_file():
        raise UsageError(f"{hook} is not a file")
    process_end = subprocess.run(
        [sys.executable, str(Path(hook)), "--agent", spec.name],
        input=json.dumps(payload).encode() + spec.payload_terminator,
        capture_output=True,
        env={**(os.environ if environ is None else environ), RECORDED: REHEARSAL},
        timeout=PROCESS_TIMEOUT,
        check=False,
    )
    stdout = process_end.stdout.decode(errors="replace")
    stderr = process_end.stderr.decode(errors="replace")
    # A hook reports what it did instead on standard error.
    notes = [line for line in stderr.splitlines() if line.startswith("anyhook: ")]
    return _understood(spec, payload, stdout, stderr, process_end.returncode, notes=notes)


def run_on_example(hooks: Hooks, example: Example, agent: str) -> HookRun:
    """Call hooks on the event of an example; raises what `run_hook` raises.

    A shadow is asked what it would answer.
    """
    fields = dict(example.fields)
    if "tool_name" in fields:
        fields["tool"] = fields.pop("tool_name")
        fields["input"] = fields.pop("tool_input", {})
    payload = make_payload(example.event, agent=agent, **fields)
    return _call_functions(hooks, get_agent(agent).form_of(payload), payload)


def run_in_time(hooks: Hooks, example: Example, agent: str) -> HookRun:
    """Call hooks on the event of an example, and end them when their time is over.

    Raises:
        TimeoutError: If they take longer than their timeout, or 30 seconds without one.
        Exception: What `run_hook` raises.
    """
    with Deadline(hooks.timeout or EXAMPLE_TIMEOUT, _raise_timeout):
        return run_on_example(hooks, example, agent)


def _raise_timeout() -> None:
    raise TimeoutError("it ran out of time")


def _call_functions(
    hooks: Hooks, agent: AgentSpec, payload: dict[str, Any], *, shadow: bool = False
) -> HookRun:
    """Call hooks as their file does in a process; the answer of a shadow is kept back."""
    event, _ = decode_event(agent, payload)
    spec = agent.by_canonical.get(event.name)
    if spec is None:
        return HookRun(agent.name, payload, NO_OPINION, None)
    dropped: list[str] = []

    def call(function: HookFunction, event: Any) -> Answer:
        answer, problems = drop_wrong_fields(to_answer(function, call_function(function, event)))
        dropped.extend(f"{function.name}: {problem}" for problem in problems)
        return answer

    must_refuse = hooks.unsupported == "refuse"
    decided = hooks.decide(event, agent, call)
    answer, notes = fit(agent, event, decided, name=hooks.name, refuse=must_refuse)
    if shadow:
        answer = NO_OPINION
    notes = [*dropped, *notes]
    message = stderr_message(agent, spec.canonical, answer)
    if message is None:
        exit_code, empty_reply, stderr = 0, spec.no_opinion_output, ""
    else:
        # Only standard error with exit code 2 reaches the user on this event.
        answer = answer.replace(system_message=None)
        exit_code, empty_reply, stderr = BLOCKING_EXIT, "", f"{message}\n"
    reply = encode_answer(agent, spec, answer)
    stdout = json.dumps(reply) if reply else empty_reply
    return _understood(agent, payload, stdout, stderr, exit_code, notes=notes)


def _understood(
    agent: AgentSpec,
    payload: dict[str, Any],
    stdout: str,
    stderr: str,
    exit_code: int,
    *,
    notes: list[str],
) -> HookRun:
    """Return a run with the answer as the agent understands it, and with what it ignores."""
    event, _ = decode_event(agent, payload)
    spec = agent.by_canonical.get(event.name)
    answer: Answer = NO_OPINION
    diagnostics: tuple[Diagnostic, ...] = ()
    if spec is not None:
        handler = HandlerSpec("command", Layer.RUNTIME, Place("<test>"), name="hook")
        end = ProcessExit(exit_code, None, stdout, stderr)
        if exit_code < 0:
            end = ProcessExit(None, str(-exit_code), stdout, stderr)
        output = decode_exit(agent, agent.documented, spec, handler, end)
        answer, diagnostics = output.answer, output.diagnostics
        if exit_code == BLOCKING_EXIT and shows_stderr(agent, spec.canonical):
            answer = answer.replace(system_message=stderr.strip() or None)
        is_denied = answer.outcome is Outcome.DENY
        if answer.tool_input is not None and not is_denied and isinstance(event, ToolEvent):
            tool, rules = event.tool_name, agent.documented
            argument = rules.refused_argument(spec, tool, event.tool_input, answer.tool_input)
            if argument:
                answer = answer.replace(tool_input=None)
                notes = [*notes, REFUSED_INPUT.format(tool=tool, argument=argument)]
    # Text that is not an object is not a reply: some agents show it to the user.
    reply = json.loads(stdout) if stdout.startswith("{") else None
    return HookRun(
        agent.name,
        payload,
        answer,
        reply or None,
        stdout,
        stderr,
        exit_code,
        tuple(notes),
        diagnostics,
    )

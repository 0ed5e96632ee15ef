"""Runs of hooks: in this process, or as the real process that an agent would start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook.agents import get_agent
from anyhook.agents.capabilities import shows_stderr, stderr_message
from anyhook.agents.output import ProcessExit, decode_exit
from anyhook.agents.payloads import decode_event
from anyhook.agents.replies import encode_answer
from anyhook.authoring.degrade import fit
from anyhook.authoring.hooks import Hooks
from anyhook.authoring.load import load_hooks
from anyhook.authoring.process_exit import BLOCKED
from anyhook.errors import UsageError
from anyhook.model.answers import NO_OPINION, Answer
from anyhook.model.definitions import HandlerSpec
from anyhook.model.diagnostics import Place
from anyhook.model.layers import Layer
from anyhook.testing.events import make_payload

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.model.diagnostics import Diagnostic

PATIENCE = 60.0
"""Seconds that a process may take."""


@dataclass(frozen=True, slots=True)
class HookRun:
    """What came of one run of a hook.

    Attributes:
        agent: The agent that it ran for.
        payload: What it was given.
        answer: What the agent understands of its reply.
        reply: Its JSON; `None` if it printed none.
        stdout: What it printed, whole.
        stderr: Its standard error.
        exit_code: Its exit code.
        notes: What was done another way, because the agent cannot do it.
        diagnostics: What the agent would have to ignore of the reply.
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
        """`deny`, `ask`, `defer`, `allow` or `none`."""
        return str(self.answer.outcome)

    @property
    def reason(self) -> str:
        """Why."""
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
        hook: A hook file, or its `Hooks`.
        event: Name of an event, whose fields follow; or a whole payload.
        agent: The agent: name of an agent.
        process: Run the file as a process of its own; otherwise its functions are called here.
        environ: Environment of the process; by default this one's.
        fields: Fields of the event: `tool`, `input`, `prompt`, …; see `make_payload`.

    Returns:
        What came of it.

    Raises:
        UsageError: If there is no such event or agent, or `Hooks` are to be run as a process.
        Exception: What a function raises that is called here.
    """
    agent_spec = get_agent(agent)
    payload = make_payload(event, agent=agent, **fields) if isinstance(event, str) else dict(event)
    if process:
        if isinstance(hook, Hooks):
            raise UsageError("a process needs a file: give its path")
        if not Path(hook).is_file():
            raise UsageError(f"{hook} is no file")
        return _run_process(Path(hook), agent_spec, payload, environ)
    hooks = hook if isinstance(hook, Hooks) else load_hooks(hook)
    return _run_here(hooks, agent_spec, payload)


def _run_here(hooks: Hooks, agent: AgentSpec, payload: dict[str, Any]) -> HookRun:
    event, _ = decode_event(agent, payload)
    spec = agent.by_canonical.get(event.name)
    if spec is None:
        return HookRun(agent.name, payload, NO_OPINION, None)
    said, notes = fit(agent, event, hooks.answer(event, agent))
    silence, code, stderr = spec.no_opinion_output, 0, ""
    message = stderr_message(agent, spec.canonical, said)
    if message is not None:
        said = said.replace(system_message=None)
        silence, code, stderr = "", BLOCKED, f"{message}\n"
    reply = encode_answer(agent, spec, said)
    text = json.dumps(reply) if reply else silence
    answer, diagnostics = _understood(agent, spec, text, code, stderr)
    return HookRun(
        agent.name,
        payload,
        answer,
        reply or None,
        stdout=text,
        stderr=stderr,
        exit_code=code,
        notes=tuple(notes),
        diagnostics=diagnostics,
    )


def _run_process(
    path: Path, agent: AgentSpec, payload: dict[str, Any], environ: Mapping[str, str] | None
) -> HookRun:
    done = subprocess.run(
        [sys.executable, str(path), "--agent", agent.name],
        input=json.dumps(payload).encode() + agent.payload_terminator,
        capture_output=True,
        env=dict(os.environ if environ is None else environ),
        timeout=PATIENCE,
        check=False,
    )
    stdout, stderr = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    event, _ = decode_event(agent, payload)
    spec = agent.by_canonical.get(event.name)
    answer, diagnostics = (
        _understood(agent, spec, stdout, done.returncode, stderr) if spec else (NO_OPINION, ())
    )
    reply = json.loads(stdout) if stdout.startswith("{") else None
    return HookRun(
        agent.name,
        payload,
        answer,
        reply or None,
        stdout,
        stderr,
        done.returncode,
        tuple(line for line in stderr.splitlines() if line.startswith("anyhook: ")),
        diagnostics,
    )


def _understood(
    agent: AgentSpec, spec: EventSpec, stdout: str, code: int, stderr: str
) -> tuple[Answer, tuple[Diagnostic, ...]]:
    """Read a reply with the eyes of the agent."""
    handler = HandlerSpec("command", Layer.RUNTIME, Place("<test>"), name="hook")
    end = ProcessExit(code if code >= 0 else None, str(-code) if code < 0 else None, stdout, stderr)
    said = decode_exit(agent, agent.documented, spec, handler, end)
    answer = said.answer
    if code == BLOCKED and shows_stderr(agent, spec.canonical):
        answer = answer.replace(system_message=stderr.strip() or None)
    return answer, said.diagnostics

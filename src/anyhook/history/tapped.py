"""What a tapped command has answered: its output, interpreted by the rules of its agent."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook.agents import get_agent
from anyhook.agents.output import ProcessExit, decode_exit, event_tools
from anyhook.agents.payloads import decode_event
from anyhook.authoring.functions import BLOCKED_BY_CRASH, IGNORED_CRASH, LATE
from anyhook.journal.records import MAX_STREAM_LENGTH, answer_record, version_record
from anyhook.model.definitions import HandlerSpec
from anyhook.model.diagnostics import Place
from anyhook.model.layers import Layer
from anyhook.model.status import Status
from anyhook.trust.scripts import named_files

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.model.answers import Answer
    from anyhook.model.events import Event

_CRASH = re.compile(
    rf"(?P<problem>\bhook .+ (?:failed \(\w+\)|{LATE}))"
    rf"(?:{BLOCKED_BY_CRASH}|{IGNORED_CRASH})$"
)
"""What a hook file prints about its crash (`anyhook.authoring.functions`)."""
RULES = "observed"
"""The rule set: what the agent that ran the hook has really done with its output."""


def complete_tapped(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record of a tapped command with its event, session, decision and result.

    Raises:
        KeyError, TypeError, ValueError: If it is none, or its input was not an event.
    """
    tap = record["tap"]
    payload = record["payload"]
    if not payload:
        raise ValueError(tap.get("problem", "it has no event"))
    agent = get_agent(record["agent"]).form_of(payload)
    event, _ = decode_event(agent, payload)
    words, place = tap["command"], Place("", None)
    if len(words) == 1:
        handler = HandlerSpec("command", Layer.RUNTIME, place, command=words[0])
    else:
        handler = HandlerSpec("command", Layer.RUNTIME, place, argv=tuple(words))
    project_names = [n for n, source in agent.hook_environment.items() if source == "project_dir"]
    variables = {**os.environ, **dict.fromkeys(project_names, record["project"])}
    files = named_files(handler, Path(tap["cwd"]), variables)
    command = handler.command or shlex.join(words)
    stdout, stderr = tap["stdout"][:MAX_STREAM_LENGTH], tap["stderr"][:MAX_STREAM_LENGTH]
    is_cut = (stdout, stderr) != (tap["stdout"], tap["stderr"])
    result: dict[str, Any] = {
        "hook": handler.label,
        "kind": "command",
        "place": str(files[0]) if files else "",
        "duration": tap["duration"],
        "stdout": stdout,
        "stderr": stderr,
        "truncated": tap["truncated"] or is_cut,
        "version": _version(command, files, record["time"]),
    }
    result |= {name: tap[name] for name in ("exit_code", "signal", "shadow") if name in tap}
    result |= _answer(agent, event, handler, tap)
    decision = {} if tap.get("shadow") else result.get("answer", {})
    return {
        **record,
        "event": event.name,
        "session": str(event.session_id or ""),
        "decision": decision,
        "results": [result],
    }


def _version(command: str, files: list[Path], started: float) -> dict[str, Any]:
    """Return what identifies the version of a command that ran some time ago."""
    if not files:
        return version_record(command, None)
    version = version_record(command, str(files[0]))
    try:
        has_changed = files[0].stat().st_ctime > started
    except OSError:
        has_changed = True
    if has_changed:  # the content that has run is not known
        return {"command": command, "file": str(files[0])}
    return version


def _answer(
    agent: AgentSpec, event: Event, handler: HandlerSpec, tap: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the status and the answer of a result."""
    if tap.get("killed"):
        return {"status": str(Status.TIMED_OUT), "error": "the agent killed it"}
    name = RULES if RULES in agent.rule_sets else "documented"
    rules = agent.rules(name)
    spec: EventSpec | None = rules.by_canonical.get(event.name)
    if spec is None:
        return {"status": str(Status.RAN)}
    end = ProcessExit(
        tap.get("exit_code"), tap.get("signal"), tap["stdout"], tap["stderr"], tap["truncated"]
    )
    output = decode_exit(agent, rules, spec, handler, end, tools=event_tools(spec, event))
    members: dict[str, Any] = {"status": str(output.status)}
    answer = answer_record(output.answer)
    if answer:
        members["answer"] = answer
    if output.failed and output.diagnostics:
        members["error"] = output.diagnostics[0].message
    crash = _crash_of(output.answer, tap["stderr"])
    if crash:
        is_late = crash.endswith(LATE)
        members["status"] = str(Status.TIMED_OUT if is_late else Status.FAILED)
        members["error"] = crash
    return members


def _crash_of(answer: Answer, stderr: str) -> str:
    """Return why a hook file has crashed, as its output shows; empty if it has not.

    It answers in the way that its author chose and ends like one that has decided.
    """
    texts = (answer.reason, answer.system_message, stderr)
    for line in "\n".join(filter(None, texts)).splitlines():
        message = _CRASH.search(line)
        if message is not None:
            return message["problem"]
    return ""

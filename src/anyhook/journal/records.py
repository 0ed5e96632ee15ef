"""Events, decisions and results as JSON values for the journal.

A hook that records imports this module, so it imports little.
"""

from __future__ import annotations

import json
import os
import time

from anyhook.model.answers import Answer, Outcome
from anyhook.model.text import shorten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from anyhook.agents.spec import AgentSpec
    from anyhook.model.decisions import Blame, Decision, HandlerResult
    from anyhook.model.definitions import HandlerSpec
    from anyhook.model.diagnostics import Place

MAX_STREAM_LENGTH = 4096
"""Characters of each stream of a command that are recorded."""
RECORDED = "ANYHOOK_RECORDED"
"""Environment variable of commands whose result another process records."""
REHEARSAL = "rehearsal"
"""Its value for commands whose event no agent has sent: it is a trial, which leaves nothing."""
RECORDER_KIND = "recorder"
"""Kind of the results of the recorder, which answers nothing."""
RECORDER = "anyhook recorder"
"""Name of the hook that answers nothing and records every event."""


def event_record(
    agent: str, event: str, session: str, payload: Mapping[str, Any], *, source: str, project: str
) -> dict[str, Any]:
    """Return the record of an event, without a decision.

    `source` is where the event was seen: `engine`, `hook` (by a hook file), `tap` (by a wrapper
    around a hook's command) or `import` (in a transcript). `project` is the directory of the
    project or the working directory.
    """
    return {
        "agent": agent,
        "time": time.time(),
        "event": event,
        "session": session,
        "project": project,
        "source": source,
        "payload": payload,
    }


def project_directory(agent: AgentSpec, cwd: str) -> str:
    """Return the directory of the project, as far as an agent names it to its hooks.

    For other agents it is the working directory of the event.
    """
    for name, source in agent.hook_environment.items():
        if source == "project_dir" and os.environ.get(name):
            return os.environ[name]
    return cwd


def decision_record(decision: Decision) -> dict[str, Any]:
    """Return a decision without its empty fields: `{}` if no hook had an opinion."""
    record = answer_record(decision)
    if decision.blame:
        record["blame"] = {
            name: [_blame_record(blame) for blame in blames]
            for name, blames in decision.blame.items()
        }
    return record


_TEXTS = {"context": "context", "system_message": "system_messages"}
"""Fields of an answer with one text, to the fields of a decision with a list of them."""
_OTHER_FIELDS = tuple(
    name for name in Answer.record_fields if name not in ("outcome", "extra", *_TEXTS)
)
_EMPTY = (None, False, (), "")


def answer_record(answer: Answer | Decision) -> dict[str, Any]:
    """Return an answer or a decision without its empty fields; both have the same form."""
    record: dict[str, Any] = {}
    if answer.outcome is not Outcome.NONE:
        record["outcome"] = str(answer.outcome)
    for name in _OTHER_FIELDS:
        value = getattr(answer, name, None)
        if value not in _EMPTY:
            record[name] = value
    for name, of_decision in _TEXTS.items():
        texts = getattr(answer, of_decision, None) or getattr(answer, name, None)
        if texts:
            record[of_decision] = [texts] if isinstance(texts, str) else list(texts)
    if answer.extra:
        record["extra"] = dict(answer.extra)
    return record


def _blame_record(blame: Blame) -> dict[str, Any]:
    record: dict[str, Any] = {"hook": blame.handler.label, "place": str(blame.handler.place)}
    if blame.overrode:
        from anyhook.model.json import dump_json, repair
        from anyhook.secrets.redact import redact_json

        record["overrode"] = []
        for other in blame.overrode:
            # First without secrets: a cut could make them unrecognizable.
            text, _ = redact_json(dump_json(repair(other.value)).decode())
            hook = other.handler.label if other.handler is not None else None
            record["overrode"].append({"hook": hook, "value": shorten(json.loads(text))})
    return record


def result_record(result: HandlerResult, file: str | None) -> dict[str, Any]:
    """Return the result of a handler without its empty fields.

    `file` is the script, the hook file or the source file of the function.
    """
    handler = result.handler
    is_cut = max(len(result.stdout), len(result.stderr)) > MAX_STREAM_LENGTH
    record: dict[str, Any] = {
        "hook": handler.label,
        "kind": handler.kind,
        "place": str(handler.place),
        "status": str(result.status),
        "duration": round(result.duration, 6),
    }
    optional = {
        "started": round(result.started, 6),
        "exit_code": result.exit_code,
        "signal": result.signal,
        "stdout": _start_of(result.stdout),
        "stderr": _start_of(result.stderr),
        "truncated": result.truncated or is_cut,
        "error": result.error,
    }
    record |= {name: value for name, value in optional.items() if value}
    if result.exit_code == 0:
        record["exit_code"] = 0
    if handler.shadow:
        record["shadow"] = True
    answer = answer_record(result.shadow_answer if handler.shadow else result.answer)
    if answer:
        record["answer"] = answer
    version = version_record(handler.command or "", file)
    if version:
        record["version"] = version
    return record


def _start_of(stream: str) -> str:
    if len(stream) <= MAX_STREAM_LENGTH:
        return stream  # the whole line of the journal is searched for secrets
    from anyhook.secrets.redact import redact_start

    return redact_start(stream, MAX_STREAM_LENGTH)


def version_record(command: str, file: str | None) -> dict[str, Any]:
    """Return what identifies the version of a hook without reading its file.

    The store turns it into a content hash when it takes the record, as long as the file still has
    the same size and time.
    """
    record: dict[str, Any] = {"command": command} if command else {}
    if file is not None:
        try:
            status = os.stat(file)  # noqa: PTH116 - a hook calls it
        except (OSError, ValueError):
            return record
        record |= {"file": file, "size": status.st_size, "mtime": status.st_mtime_ns}
    return record


def source_file(handler: HandlerSpec) -> str | None:
    """Return the file of a function; `None` for other handlers."""
    place: Place = handler.place
    return place.file if handler.kind == "function" else None


def is_recorder_command(command: str) -> bool:
    """Return whether a command line is the recorder, also of another installation of anyhook."""
    return command.rstrip("'").endswith("/anyhook/authoring/recorder.py")

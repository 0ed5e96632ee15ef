"""The contents of events and answers as attributes, without secrets, if a host asks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyhook.model.event import ToolEvent
from anyhook.model.json import dump_json, repair
from anyhook.secrets.redact import redact_start
from anyhook.telemetry import names
from anyhook.telemetry.attributes import clean

if TYPE_CHECKING:
    from anyhook.model.decisions import Decision, HandlerResult
    from anyhook.model.events import Event

MAX_CONTENT = 8 * 1024
"""Characters of a content that are kept."""


def event_contents(event: Event) -> dict[str, str]:
    """Return the arguments and the result of a tool, or the prompt."""
    contents: dict[str, str] = {}
    if isinstance(event, ToolEvent):
        contents[names.TOOL_ARGUMENTS] = _json(event.tool_input)
    response = getattr(event, "tool_response", None)
    if response is not None:
        contents[names.TOOL_RESULT] = _json(response)
    prompt = getattr(event, "prompt", None)
    if prompt:
        contents[names.PROMPT] = _text(prompt)
    return contents


def decision_contents(decision: Decision) -> dict[str, str]:
    """Return the texts of a decision."""
    contents: dict[str, str] = {}
    if decision.reason:
        contents[names.REASON] = _text(decision.reason)
    if decision.context:
        contents[names.CONTEXT] = _text("\n".join(decision.context))
    return contents


def hook_contents(result: HandlerResult) -> dict[str, str]:
    """Return the answer and the output of a hook."""
    values = {
        names.HOOK_REASON: result.answer.reason,
        names.HOOK_STDOUT: result.stdout,
        names.HOOK_STDERR: result.stderr,
        names.HOOK_ERROR: result.error,
    }
    return {key: _text(value) for key, value in values.items() if value}


def _json(value: object) -> str:
    return _text(dump_json(repair(value)).decode())


def _text(text: object) -> str:
    return clean(redact_start(str(text), MAX_CONTENT), MAX_CONTENT)

"""The attributes of spans, from events, decisions and results of hooks."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from anyhook.engine.observers import OWN_SESSIONS
from anyhook.model.answers import Outcome
from anyhook.model.event import ToolEvent
from anyhook.model.json import dump_json, repair
from anyhook.model.status import Status, trouble_of
from anyhook.secrets.redact import redact_start
from anyhook.telemetry import names

if TYPE_CHECKING:
    from opentelemetry.util.types import AttributeValue

    from anyhook.agents.spec import AgentSpec
    from anyhook.model.decisions import Decision, HandlerResult
    from anyhook.model.definitions import HandlerSpec
    from anyhook.model.events import Event

    Attributes = dict[str, AttributeValue]


MAX_WIDTH = 256
"""Characters of a value that is not a content; identifiers and names come from payloads."""


def session_of(event: Event) -> str:
    """Return the identifier of an event's session; empty if the program has named none."""
    session_id = event.session_id or ""
    return "" if session_id.startswith(OWN_SESSIONS) else session_id


def clean(value: object, limit: int = MAX_WIDTH) -> str:
    """Return a text that every exporter can encode: a lone surrogate would lose the whole batch."""
    text = str(value)[:limit]
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def event_attributes(agent: AgentSpec, event: Event) -> Attributes:
    """Return what is known of an event before it is decided."""
    attributes: Attributes = {
        names.OPERATION: names.RUN_HOOKS,
        names.AGENT_NAME: agent.title,
        names.AGENT: agent.name,
        names.EVENT: event.name,
    }
    model = getattr(event, "model", None)
    request = getattr(event, "llm_request", None)
    if isinstance(request, Mapping):
        model = request.get("model")
    optional = {
        names.CONVERSATION_ID: session_of(event),
        names.AGENT_ID: event.agent_id,
        names.REQUEST_MODEL: model,
    }
    if isinstance(event, ToolEvent):
        optional[names.TOOL_NAME] = event.tool_name
        with suppress(Exception):  # a payload may hold any JSON
            optional[names.TOOL] = event.tool
        optional[names.TOOL_CALL_ID] = event.tool_use_id
    for key, value in optional.items():
        if value:
            attributes[key] = clean(value)
    return attributes


def event_name(event: Event) -> str:
    """Return the name of the span of an event."""
    tool = getattr(event, "tool_name", None)
    return f"{event.name} {clean(tool)}" if tool else event.name


def decision_attributes(decision: Decision) -> Attributes:
    """Return the attributes of a decision."""
    attributes: Attributes = {names.OUTCOME: str(decision.outcome)}
    if decision.stop:
        attributes[names.STOP] = True
    if decision.blame:
        attributes[names.BLAME] = blame_lines(decision)
    if decision.diagnostics:
        codes = dict.fromkeys(diagnostic.code for diagnostic in decision.diagnostics)
        attributes[names.DIAGNOSTICS] = list(codes)
    return attributes


def blame_lines(decision: Decision) -> list[str]:
    """Return `FIELD: HOOK` for each hook that set a field.

    Members of objects are left out: their names come from the arguments of tools.
    """
    lines: list[str] = []
    for field, blames in decision.blame.items():
        if "." not in field:
            lines += [f"{field}: {clean(blame.handler.label)}" for blame in blames]
    return lines


def blamed_fields(decision: Decision, handler: HandlerSpec) -> list[str]:
    """Return the fields of a decision that a hook set."""
    fields: list[str] = []
    for field, blames in decision.blame.items():
        is_blamed = any(blame.handler is handler for blame in blames)
        if is_blamed and "." not in field:
            fields.append(field)
    return fields


def hook_attributes(
    agent: AgentSpec, event: Event, decision: Decision, result: HandlerResult
) -> Attributes:
    """Return the attributes of the run of a hook."""
    handler = result.handler
    attributes: Attributes = {
        names.OPERATION: names.RUN_HOOK,
        names.AGENT_NAME: agent.title,
        names.AGENT: agent.name,
        names.EVENT: event.name,
        names.HOOK_NAME: clean(handler.label),
        names.HOOK_KIND: handler.kind,
        names.HOOK_LAYER: str(handler.layer),
        names.HOOK_PLACE: clean(handler.place, limit=4096),
        names.HOOK_STATUS: str(result.status),
    }
    if session := session_of(event):
        attributes[names.CONVERSATION_ID] = clean(session)
    if result.answer.outcome is not Outcome.NONE:
        attributes[names.HOOK_OUTCOME] = str(result.answer.outcome)
    if result.exit_code is not None:
        attributes[names.HOOK_EXIT_CODE] = result.exit_code
    if result.signal:
        attributes[names.HOOK_SIGNAL] = result.signal
    fields = blamed_fields(decision, handler)
    if fields:
        attributes[names.HOOK_BLAME] = fields
    error = error_of(result)
    if error:
        attributes[names.ERROR_TYPE] = error
    return attributes


def error_of(result: HandlerResult) -> str:
    """Return why the span of a hook is an error; empty if it is none."""
    trouble = trouble_of(result.status, result.exit_code, result.signal)
    return "" if trouble == Status.WITHHELD else trouble


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

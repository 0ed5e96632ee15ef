"""The session, the project and the tool of a payload, for lists of many events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from anyhook.agents.payloads import decoded_value, payload_key
from anyhook.model.events import Event, ToolEvent, UnknownEvent, event_class

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from anyhook.agents.spec import AgentSpec, EventSpec


class Outline(NamedTuple):
    """What a list shows of an event: session, directory of the project, canonical tool.

    A text is empty if the payload lacks it; the tool is `None` for an event of no tool.
    """

    session: str
    project: str
    tool: str | None


def outline_of(agent: AgentSpec, payload: Mapping[str, Any]) -> Outline:
    """Return the outline of a payload: what `decode_event` gives, in a third of its time."""
    form, spec = _form_and_event(agent, payload)
    cls: type[Event] = UnknownEvent if spec is None else event_class(spec.canonical)

    def read(field: str) -> Any:
        key = payload_key(form, spec, field)
        return decoded_value(spec, cls, field, key, payload)

    tool = None
    if issubclass(cls, ToolEvent):
        tool = form.vocabulary.tool(read("tool_name"), read("mcp_context"))
    return Outline(str(read("session_id") or ""), read("cwd"), tool)


def member_of(agent: AgentSpec, payload: Mapping[str, Any], field: str) -> Any:
    """Return the member of a payload that is a field of its event; `None` if it has none."""
    form, spec = _form_and_event(agent, payload)
    key = payload_key(form, spec, field)
    return None if key is None else payload.get(key)


SUBJECTS = ("tool_input", "prompt", "command", "file_path", "source", "reason")
"""Fields of events that hold what an event is about, the most telling first."""


def subjects_of(agent: AgentSpec, payload: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the members of a payload that hold what its event is about, the most telling first."""
    for field in SUBJECTS:
        yield member_of(agent, payload, field)


def _form_and_event(
    agent: AgentSpec, payload: Mapping[str, Any]
) -> tuple[AgentSpec, EventSpec | None]:
    """Return the form of a payload, and its event; `None` if the agent does not have the event."""
    form = agent.form_of(payload)
    name = form.event_name_in(payload)
    return form, form.by_wire.get(name) if isinstance(name, str) else None

"""What the registry holds of an agent before the agent's tables are loaded."""

from __future__ import annotations

from anyhook.model.record import EMPTY, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


_objects: dict[str, Any] = {}
"""By path what `load_object` has returned; the import system takes twenty times as long."""


def load_object(path: str) -> Any:
    """Import a module that is only needed now, and return one of its objects.

    The path is `module:NAME`.
    """
    if path not in _objects:
        module, _, name = path.partition(":")
        # It may be in `sys.modules` while another thread still imports it; this waits for that.
        _objects[path] = getattr(__import__(module, fromlist=[name]), name)
    return _objects[path]


def event_of_shape(
    shapes: Mapping[str, frozenset[str]], payload: Mapping[str, object]
) -> str | None:
    """Return the first event of which a payload has all members; `None` if there is none."""
    for event, members in shapes.items():
        if members <= payload.keys():
            return event
    return None


class AgentEntry(Record):
    """An agent's name, where its tables are, and the marks by which its payloads are recognized.

    Attributes:
        name: Name in options and parameters: `claude`.
        spec: `module:NAME` of the agent's `AgentSpec`.
        program: `module:NAME` of its `AgentProgram`; empty if it cannot be started without a user.
        transcripts: `module:NAME` of its `TranscriptFormat`; empty if its transcripts are not read.
        is_program: Whether it is a coding agent with settings and hooks of its own.
        event_key: Member of payloads that holds the name of the event.
        shapes: Event to members that only its payloads have, the first match counts; for payloads
            that do not name their event.
        events: The names of its events in payloads.
        own_members: Members that other agents do not send with events of the same name.
        required_members: Members that all of its payloads have.
        absent_members: Members that none of its payloads has.
        transcript_part: A part of the path of its transcripts.
        null_transcript: Whether the path of the transcript is `null` if there is none.
        tools: Tool names by which it differs from other agents with the same events.
        variables: Environment variables that it sets for hooks.
        child_variables: Environment variables that the commands get which it runs as tools.
        extends: Names of the agents that it descends from, or whose variables it sets too.
    """

    name: str
    spec: str
    program: str = ""
    transcripts: str = ""
    is_program: bool = True
    event_key: str = "hook_event_name"
    events: frozenset[str]
    shapes: Mapping[str, frozenset[str]] = EMPTY
    own_members: frozenset[str] = frozenset()
    required_members: frozenset[str] = frozenset()
    absent_members: frozenset[str] = frozenset()
    transcript_part: str
    null_transcript: bool = False
    tools: frozenset[str] = frozenset()
    variables: tuple[str, ...]
    child_variables: tuple[str, ...] = ()
    extends: frozenset[str] = frozenset()

"""What the registry knows of an agent before the agent's tables are loaded."""

from __future__ import annotations

from anyhook.model.record import Record


class AgentEntry(Record):
    """An agent's name, where its tables are, and the marks by which its payloads are recognized.

    Attributes:
        name: Its name in options and parameters: `claude`.
        spec: `module:NAME` of its `AgentSpec`.
        is_program: It is a coding agent with settings and hooks of its own.
        event_key: Member of a payload that holds the event's name.
        events: Its events, as payloads name them.
        required_members: Members that all of its payloads have.
        absent_members: Members that none of its payloads has.
        transcript_part: A part of the path of its transcripts.
        tools: Tool names that payloads of other agents with the same events never have.
        variables: Environment variables that it sets for hooks.
        extends: The agent that it is built on, whose variables it sets too; empty if none.
    """

    name: str
    spec: str
    is_program: bool = True
    event_key: str = "hook_event_name"
    events: frozenset[str]
    required_members: frozenset[str] = frozenset()
    absent_members: frozenset[str] = frozenset()
    transcript_part: str
    tools: frozenset[str] = frozenset()
    variables: tuple[str, ...]
    extends: str = ""

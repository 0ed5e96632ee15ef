"""A sample event that a child answers before it waits for a real one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.agents.payloads import encode_event
from anyhook.authoring import Hooks, deny
from anyhook.model.events import BeforeTool
from anyhook.model.json import dump_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyhook.model.answers import Answer

ARGUMENTS = {"file_path": "sample", "content": "sample"}
sample_hooks = Hooks()


@sample_hooks.before_tool("shell", "write_file")
def guard(event: BeforeTool) -> Answer | None:
    """Do what most guards do: read the texts of the event, and deny it."""
    return deny("sample") if event.text else None


def sample_payload(arguments: Sequence[str]) -> bytes:
    """Return an event of the agent that the arguments of a hook name, else of the first one."""
    named = [word for word in arguments if word in CODING_AGENTS]
    agent = get_agent((*named, *CODING_AGENTS)[0])
    event = BeforeTool(
        session_id="sample",
        transcript_path="",
        cwd="/",
        timestamp="",
        tool_name=agent.vocabulary.name("write_file") or "write_file",
        tool_input=agent.vocabulary.arguments("write_file", ARGUMENTS),
    )
    return dump_json(encode_event(agent, event))

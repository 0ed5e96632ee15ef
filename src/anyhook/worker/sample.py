"""A sample event that a child answers before it waits for a real one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from anyhook.agents import CODING_AGENTS, get_agent, recognize
from anyhook.agents.payloads import encode_event
from anyhook.authoring import Hooks, deny
from anyhook.model.events import BeforeTool
from anyhook.model.json import dump_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anyhook.model.answers import Answer

_decode = json.JSONDecoder().decode
"""Taken before a hook can replace functions."""
ARGUMENTS = {"command": "cd sample && rm -rf sample/*.py | tee sample; git push origin sample"}
sample_hooks = Hooks()


@sample_hooks.before_tool("shell")
def guard(event: BeforeTool) -> Answer | None:
    """Do what most guards do: read the command line, and deny the call."""
    return deny("sample") if event.deletes("/sample/**") and event.text else None


def sample_payload(arguments: Sequence[str], payload: bytes, environ: Mapping[str, str]) -> bytes:
    """Return an event of the agent that runs a hook.

    Args:
        arguments: Arguments of the hook, which may name the agent.
        payload: An event of the agent.
        environ: Variables of the hook.
    """
    names = [word for word in arguments if word in CODING_AGENTS]
    name = names[0] if names else None
    if name is None:
        try:
            agent_event = _decode(payload.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            agent_event = None
        if isinstance(agent_event, dict):
            name = recognize(agent_event, environ)
    agent = get_agent(name or CODING_AGENTS[0])
    event = BeforeTool(
        session_id="sample",
        transcript_path="",
        cwd="/",
        timestamp="",
        tool_name=agent.vocabulary.name("shell") or "shell",
        tool_input=agent.vocabulary.arguments("shell", ARGUMENTS),
    )
    return dump_json(encode_event(agent, event))

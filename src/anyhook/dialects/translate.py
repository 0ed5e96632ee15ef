"""Events of one agent in the words of another; with the generic layer as one of them."""

from __future__ import annotations

from anyhook.dialects.payload import NOT_ON_WIRE, decode_event, encode_event
from anyhook.model.events import ToolEvent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from anyhook.dialects.base import Dialect
    from anyhook.model.diagnostics import Diagnostic
    from anyhook.model.events import Event


def translate_event(event: Event, target: Dialect) -> Event:
    """Put an event in another agent's words: tool names and arguments.

    Args:
        event: An event that knows whose words it uses (`vocabulary`).
        target: The other agent.

    Returns:
        An event that was built in Python. A tool outside the vocabulary keeps its raw name.
    """
    own = {f: getattr(event, f) for f in event.record_fields if f not in NOT_ON_WIRE}
    if isinstance(event, ToolEvent):
        call = event.call
        own["tool_name"] = target.vocabulary.name(call.tool) or event.tool_name
        own["tool_input"] = target.vocabulary.arguments(call.tool, call.arguments)
    return type(event)(**own, wire_name=event.wire_name, vocabulary=target.vocabulary)


def translate_payload(
    payload: Mapping[str, Any], source: Dialect, target: Dialect
) -> tuple[dict[str, Any], tuple[Diagnostic, ...]]:
    """Write one agent's payload as another one's.

    Args:
        payload: As the source agent sent it.
        source: Whose it is.
        target: Whose form is wanted.

    Returns:
        The payload, and what was wrong with the one that was given. In the generic form the
        payload that was given is kept whole, and the agent is named. An event that the target
        does not know keeps its raw name.
    """
    event, problems = decode_event(source, payload)
    made = encode_event(target, translate_event(event, target))
    if target.agent_key:
        made[target.agent_key] = source.name
    if target.raw_key:
        made[target.raw_key] = dict(payload)
    return made, problems

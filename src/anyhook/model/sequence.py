"""What the next handler of a sequence sees changed by the one before."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from anyhook.model.answers import Answer
    from anyhook.model.events import Event

SEQUENCE: dict[str, dict[str, str]] = {
    "before_prompt": {"context": "prompt"},
    "before_model": {"llm_request": "llm_request"},
    "after_model": {"llm_response": "llm_response"},
    "before_tool": {"tool_input": "tool_input"},
}
"""Event to the fields of an answer that change it, with the field that each changes."""


def advance(
    chain: Mapping[str, str],
    event: Event,
    answer: Answer,
    changes: Mapping[str, Callable[[Any, Any], Any]] | None = None,
) -> Event:
    """Return the event as the next handler of a sequence sees it.

    Args:
        chain: Field of the answer to the event's field that it changes.
        event: The event as the previous handler saw it.
        answer: The answer of the previous handler.
        changes: How each field changes the event; by default `CHAINS`.
    """
    merge = CHAINS if changes is None else changes
    changed: dict[str, Any] = {}
    for source, target in chain.items():
        value = getattr(answer, source)
        if value is not None:
            current = getattr(event, target)
            expected = dict if isinstance(value, dict) else str
            base = current if isinstance(current, expected) else expected()
            changed[target] = merge[source](base, value)
    return event.replace(**changed) if changed else event


def _request(old: Any, new: Any) -> Any:
    from anyhook.model.llm import merge_request

    return merge_request(old, new)


def _response(old: Any, new: Any) -> Any:
    from anyhook.model.llm import merge_response

    return merge_response(old, new)


CHAINS: dict[str, Callable[[Any, Any], Any]] = {
    "tool_input": lambda old, new: {**old, **new},
    "context": lambda old, new: f"{old}\n\n{new}" if new else old,
    "llm_request": _request,
    "llm_response": _response,
}
"""Field of an answer to how it changes what the next handler of a sequence sees."""

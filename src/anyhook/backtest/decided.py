"""What is kept of a decision on a recorded event: its text, and no secrets."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from anyhook.backtest.results import Decided
from anyhook.backtest.sources import remove_examples
from anyhook.model.text import shorten
from anyhook.secrets.redact import redact_json, redact_start

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from anyhook.backtest.sources import EventRow

MAX_TEXT = 200
"""Characters of an event that are shown in an example."""


def decided_of(
    row: EventRow,
    payload: Mapping[str, Any],
    decision: Mapping[str, Any],
    hooks: Iterable[str],
    *,
    reconstructed: tuple[str, ...],
    crash: str,
) -> Decided:
    """Return what is kept of a decision: it holds no secrets.

    `reconstructed` are the members that it depends on and that were not recorded, `crash` the error
    of the first hook that failed, without secrets.
    """
    text = longest_text(row.read_stored_payload() if row.redacted else payload)
    if not row.is_redacted:
        text = redact_start(text, MAX_TEXT)
    if row.redacted or not row.is_redacted:
        decision_text = json.dumps(decision, default=str)
        redacted = _redact_decision(decision_text)
        if redacted != decision_text:
            decision = json.loads(redacted)
    text = text[:MAX_TEXT]
    return Decided(
        row.ref,
        row.session,
        row.event,
        row.tool,
        text,
        decision,
        tuple(hooks),
        reconstructed,
        crash,
        row.is_refused,
    )


@lru_cache(maxsize=1024)  # most decisions of a hook are equal
def _redact_decision(text: str) -> str:
    return redact_json(remove_examples(text))[0]


def crash_text(message: str) -> str:
    """Return the first line of a message about a crash, without secrets and not too long."""
    first = message.strip().partition("\n")[0]
    redacted: str = json.loads(_redact_decision(json.dumps(first)))
    return shorten(redacted)


def shown_text(payload: Mapping[str, Any]) -> str:
    """Return what an event was about, cut for an example."""
    return longest_text(payload)[:MAX_TEXT]


def longest_text(payload: Mapping[str, Any]) -> str:
    """Return what an event was about: the longest string of its arguments, else of the rest."""
    for name in ("tool_input", "toolArgs", "prompt", "command"):
        text = _longest_string(payload.get(name))
        if text:
            return text
    return ""


def _longest_string(value: Any) -> str:
    if isinstance(value, str):
        return value
    items: Iterable[Any] = ()
    if isinstance(value, dict):
        items = value.values()
    elif isinstance(value, list):
        items = value
    return max((_longest_string(item) for item in items), key=len, default="")

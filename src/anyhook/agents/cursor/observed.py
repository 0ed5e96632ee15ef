"""The rule sets of Cursor: its reference, and what others measured with named releases.

Cursor could not be run for these tables. Each difference names who measured it, and with which
release.
"""

from __future__ import annotations

from anyhook.agents.cursor.events import EVENTS
from anyhook.agents.cursor.replies import ACCEPTED, EXITS
from anyhook.agents.spec import Differences, RuleSet

DOCUMENTED = RuleSet(
    name="documented",
    release="hooks reference of 2026",
    events=EVENTS,
    exit_rules={"*": EXITS},
    accepted_decisions=ACCEPTED,
    drops_ineffective_fields=True,
    # No output is not JSON (ljos 0.35.5; vibetime #40, 2026-09-14).
    empty_fails=True,
    default_reason="",
)

CONTEXT = {"effective_fields": frozenset({"outcome", "reason", "context"})}
OBSERVED = Differences(
    rules={"name": "observed", "release": "Cursor 3.9.16 and cursor-agent 2026.09.10"},
    events={
        # The model saw a context of `beforeSubmitPrompt` in the same turn (3.9.16, exocortex).
        "before_prompt": CONTEXT,
    },
)

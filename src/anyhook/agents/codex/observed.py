"""The rule sets of Codex CLI: its reference, and the release that was observed."""

from __future__ import annotations

from anyhook.agents.codex.events import EVENTS
from anyhook.agents.codex.replies import DOCUMENTED_FAULTS, EXIT_RULES, REPLY_FAULTS
from anyhook.agents.spec import Differences, RuleSet

DOCUMENTED = RuleSet(
    name="documented",
    release="hooks reference of 2026-10",
    # "matcher is a regex string": also one that is a plain name.
    events=tuple([spec.replace(matcher_style="rust_expression") for spec in EVENTS]),
    exit_rules=EXIT_RULES,
    output_form="anyhook.agents.codex.output:classify",
    strict=True,
    strict_members=True,
    allows_null=True,
    any_event_name=True,
    reply_faults=DOCUMENTED_FAULTS,
    last_duplicate_wins=True,
    handler_identity="place",
    default_reason="",
)

OBSERVED = Differences(
    rules={"name": "observed", "release": "0.169.0", "reply_faults": REPLY_FAULTS},
    # A matcher of letters, digits, `_` and `|` is a list of exact names.
    every_event={"matcher_style": "rust"},
)

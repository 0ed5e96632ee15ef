"""One event of an agent: its names, who sees what, and what hooks can do on it."""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType

from anyhook.model.answers import Audience
from anyhook.model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from anyhook.model.answers import Outcome
    from anyhook.model.layers import Layer

EMPTY: Mapping[Any, Any] = MappingProxyType({})
"""The default of attributes that are mappings; a default must not be mutable."""


class PlainText(StrEnum):
    """How standard output that is not JSON is interpreted."""

    SYSTEM_MESSAGE = "system_message"
    TOOL_NAMES = "tool_names"
    """Comma-separated tool names select these tools (mode ANY); other text is a system message."""
    CONTEXT = "context"
    PATH = "path"
    """The last line that is not blank is a path."""
    NOTHING = "nothing"


class Denial(StrEnum):
    """The effect of a denial."""

    PREVENTS = "prevents"
    """The action does not happen."""
    HIDES = "hides"
    """The action has happened; the agent gets the reason in place of the result."""
    INFORMS = "informs"
    """The action has happened; the agent gets the reason beside the result."""
    ENDS = "ends"
    """The action has happened; the agent ends its turn, and the user gets the reason."""
    CONTINUES = "continues"
    """The agent, which was about to end its turn, continues with the reason as its prompt."""
    NOTHING = "nothing"
    """The event cannot be denied."""


class EventSpec(Record, kw_only=False):
    """One event of an agent, under one rule set.

    Attributes:
        canonical: Canonical name, known to `anyhook.model.events.event_class`.
        wire: The agent's own name.
        subject: Field of the event that matchers are applied to; `None` if it has none.
        subjects: The values that the subject can have; empty if any text is possible.
        matcher_style: Syntax of matchers, a key of `anyhook.matching.matchers.STYLES`.
        effective_fields: Fields of an answer that have an effect; others are reported.
        outcomes: Verdicts that have an effect; `None` if all have.
        denial: The effect of a denial.
        reason_audience: Who reads the reason of a denial.
        allow_audience: Who reads the reason of an allowance.
        message_audience: Who reads a `systemMessage`.
        stdout_audience: Who sees the output of a command that succeeded.
        plain_text: How output that is not JSON is interpreted.
        can_block: Whether exit code 2 denies.
        block_audience: Who sees standard error of exit code 2, if exit code 2 does not deny.
        tolerates_missing_file: Layers (empty: all) on which exit code 2 does not deny if standard
            error only reports a missing file; `None` if exit code 2 always denies.
        fails_closed: Whether `onFailure: block` makes a failed hook deny.
        blocks_at_timeout: Whether a timeout denies.
        verdict_policy: How verdicts are combined, a key of `anyhook.engine.combine.VERDICTS`.
        reason_policy: Which reasons are combined: `carried` for those of the handlers with the
            winning verdict, `all` for those of all handlers.
        field_policies: Field of an answer to the policy by which it is combined
            (`anyhook.engine.combine.RULES`, `Coercions.policies`), where it differs from the
            usual one.
        chained_fields: Field of an answer to the field of the event that it changes for the next
            handler of a sequence.
        any_output_sets: Fields of the answer, with their values, that any output sets.
        implied_fields: Field of an answer to the fields that a reply has to set with it.
        inverted_fields: Fields of an answer that have the opposite of their usual effect.
        discarded_fields: Fields of an answer that are dropped, because they have no effect; the
            reason of a dropped denial is shown to the user.
        discarded_on_denial: Fields of all answers that are dropped if the event is denied.
        payload_keys: Field of the event to its key in payloads, where they differ; `None` if
            payloads lack it.
        optional_fields: Required fields of the event class that a payload may lack.
        handler_kinds: Kinds of handlers that run on the event; `None` for all.
        default_timeouts: Kind of handler to seconds, where it is not the handler type's default.
        max_timeouts: Layer to the upper limit of the timeouts of its hooks, in seconds.
        supports_conditions: Whether conditions (`if`) of handlers are evaluated; if not, a handler
            with a condition never runs.
        prompt_refusals: Fields of the answer of a prompt handler that refuses: as it is, and with
            `continueOnBlock`.
        no_opinion_output: What a hook without an opinion prints: nothing, where the agent
            interprets any text.
        reads_all_output: Whether the agent interprets any output, also on standard error.
        stdout_field: Field of the answer that the whole output of a successful command is put
            into, also if it is JSON; `None` if there is none.
        stop_prevents: Whether ending the turn (`continue: false`) also prevents the action.
        subject_aliases: Subject to its canonical name, where the agent's name differs from it.
    """

    canonical: str
    wire: str
    subject: str | None = None
    subjects: tuple[str, ...] = ()
    matcher_style: str = "usual"
    effective_fields: frozenset[str] = frozenset()
    outcomes: frozenset[Outcome] | None = None
    denial: Denial = Denial.PREVENTS
    reason_audience: Audience = Audience.USER
    allow_audience: Audience = Audience.DEBUG
    message_audience: Audience = Audience.USER
    stdout_audience: Audience = Audience.TRANSCRIPT
    plain_text: PlainText = PlainText.SYSTEM_MESSAGE
    can_block: bool = True
    block_audience: Audience = Audience.USER
    tolerates_missing_file: frozenset[Layer] | None = None
    fails_closed: bool = True
    blocks_at_timeout: bool = False
    verdict_policy: str = "strongest"
    reason_policy: str = "carried"
    field_policies: Mapping[str, str] = EMPTY
    chained_fields: Mapping[str, str] = EMPTY
    any_output_sets: Mapping[str, Any] = EMPTY
    implied_fields: Mapping[str, Mapping[str, Any]] = EMPTY
    inverted_fields: frozenset[str] = frozenset()
    discarded_fields: frozenset[str] = frozenset()
    discarded_on_denial: frozenset[str] = frozenset()
    payload_keys: Mapping[str, str | None] = EMPTY
    optional_fields: frozenset[str] = frozenset()
    handler_kinds: frozenset[str] | None = None
    default_timeouts: Mapping[str, float] = EMPTY
    max_timeouts: Mapping[Layer, float] = EMPTY
    supports_conditions: bool = False
    prompt_refusals: tuple[Mapping[str, Any], Mapping[str, Any]] = (EMPTY, EMPTY)
    no_opinion_output: str = "{}"
    reads_all_output: bool = False
    stdout_field: str | None = None
    stop_prevents: bool = True
    subject_aliases: Mapping[str, str] = EMPTY

    @property
    def shows_stderr(self) -> bool:
        """Whether exit code 2 shows standard error to the user, and does not deny."""
        return not self.can_block and self.block_audience is Audience.USER

    @property
    def can_fail_closed(self) -> bool:
        """Whether a failure may deny. Never where a denial continues the turn: it could loop."""
        return self.fails_closed and self.denial not in (Denial.NOTHING, Denial.CONTINUES)

"""Rule sets: how an agent behaves by its reference, and how its releases were observed to."""

from __future__ import annotations

from functools import cached_property

from anyhook.agents.spec.events import EMPTY, EventSpec
from anyhook.model.answers import Audience
from anyhook.model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from anyhook.agents.spec.exits import ExitRules


class Coercions(Record):
    """How a release that checks no types interprets replies.

    Attributes:
        read_member: Reads a member of a reply that has the wrong type: takes the field of the
            answer, the value and the fields read so far, which it changes.
        policies: Name of a policy to a function that combines one field (`EventSpec`,
            `field_policies`): takes the fields of the decision so far, the event's own value and
            the last value that a handler set; returns the fields to set, `None` to remove one.
        chain: Field of an answer to a function that changes the event for the next handler of a
            sequence: takes the event's value and the answer's.
    """

    read_member: Callable[[str, object, dict[str, Any]], None]
    policies: Mapping[str, Callable[[Mapping[str, Any], dict[str, Any], Any], dict[str, Any]]]
    chain: Mapping[str, Callable[[Any, Any], Any]]


class Differences(Record):
    """How one rule set differs from another.

    Attributes:
        rules: Attributes of `RuleSet` to their values.
        every_event: Attributes of every `EventSpec` to their values.
        events: Canonical name of an event to attributes of its `EventSpec`; they take precedence
            over `every_event`.
    """

    rules: Mapping[str, Any] = EMPTY
    every_event: Mapping[str, Any] = EMPTY
    events: Mapping[str, Mapping[str, Any]] = EMPTY


class RuleSet(Record):
    """The behaviour of an agent, by its reference or by one release.

    Attributes:
        name: `documented`, `observed` or `observed@VERSION`.
        release: The reference or the release that it describes.
        events: The events of the agent.
        exit_rules: Canonical name of an event to its exit rules; `*` for all other events.
        objects_only: Whether only text from `{` to `}` is JSON; otherwise any JSON text is.
        strings_are_text: Whether a JSON string is plain text, with its quotes.
        async_replies: Whether a command whose output starts with the object `{"async": true}`
            runs in the background: its other output and its exit code have no effect.
        strict: Whether one wrong member, `null` included, invalidates the whole reply.
        blocks_despite_invalid_json: Whether exit code 2 denies if the reply is invalid.
        stderr_as_reason: Whether standard error of exit code 2 is the reason of a denial in JSON
            that gives none.
        accepted_decisions: Decision words that are valid on every event, also without effect.
        drops_ineffective_fields: Whether fields of an answer without effect on the event are
            dropped; otherwise hosts get them.
        coercions: `module:NAME` of the `Coercions` of a release that checks no types; empty if it
            checks them.
        cleared_by_invalid: Fields of an answer that a handler clears for all handlers before it by
            a value of a wrong type.
        chains_failures: Whether the answer of a command that failed changes the event for the
            next handler of a sequence.
        sequence_scope: What a `sequential` definition runs in order: the handlers of that
            `definition`, or `all` handlers of the event.
        ends_sequence: Whether a denial ends a sequence.
        handler_identity: When two handlers are the same one: `identity`, or `name_and_command`.
        toggle_policy: Which layer decides whether hooks run: the one of the strongest `authority`,
            or the one of the highest `precedence`.
        enabled_by_default: Whether hooks run if no settings file enables them.
        warning_audience: Who sees standard error of a command that failed.
        merged_by_agent: Fields of a decision that the agent merges with the event's own values.
        default_reason: Reason of a denial without one, with `{label}` for the hook; empty if such
            a denial has no reason.
        last_duplicate_wins: Whether the last of several verdicts in one reply counts; otherwise
            the strongest one does.
    """

    name: str
    release: str
    events: tuple[EventSpec, ...]
    exit_rules: Mapping[str, ExitRules]
    merged_by_agent: frozenset[str] = frozenset()
    objects_only: bool = False
    strings_are_text: bool = False
    async_replies: bool = False
    strict: bool = False
    blocks_despite_invalid_json: bool = True
    stderr_as_reason: bool = True
    accepted_decisions: frozenset[str] = frozenset()
    drops_ineffective_fields: bool = False
    coercions: str = ""
    cleared_by_invalid: frozenset[str] = frozenset()
    chains_failures: bool = True
    sequence_scope: str = "definition"
    ends_sequence: bool = True
    handler_identity: str = "identity"
    toggle_policy: str = "authority"
    enabled_by_default: bool = True
    warning_audience: Audience = Audience.DEBUG
    default_reason: str = "blocked by hook '{label}'"
    last_duplicate_wins: bool = False

    @cached_property
    def by_canonical(self) -> Mapping[str, EventSpec]:
        """The events by canonical name."""
        return {spec.canonical: spec for spec in self.events}

    @property
    def version(self) -> str:
        """The version of the release, without the name of the program: `2.1.330`."""
        return self.release.rpartition(" ")[2]

    @cached_property
    def loaded_coercions(self) -> Coercions | None:
        """The object that `coercions` names; imported only when a reply is read."""
        if not self.coercions:
            return None
        module, _, name = self.coercions.partition(":")
        coercions: Coercions = getattr(__import__(module, fromlist=[name]), name)
        return coercions

    def exit_rules_for(self, event: str) -> ExitRules:
        """Return the exit rules of an event.

        Args:
            event: Canonical name.
        """
        return self.exit_rules.get(event) or self.exit_rules["*"]

    def with_differences(self, differences: Differences) -> RuleSet:
        """Return a copy of the rule set with the differences applied."""
        events = []
        for spec in self.events:
            own = differences.events.get(spec.canonical, EMPTY)
            events.append(spec.replace(**{**differences.every_event, **own}))
        return self.replace(events=tuple(events), **differences.rules)

"""Compares the decisions of the source's hooks with those of the migrated ones."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from anyhook.agents.replies import answer_of
from anyhook.migrate.canonical import canonical, normalize_texts
from anyhook.model.status import Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from anyhook.migrate.corpus import Probe
    from anyhook.migrate.losses import Loss
    from anyhook.migrate.plan import Migration
    from anyhook.model.decisions import Decision, HandlerResult
    from anyhook.model.definitions import HookDefinition
    from anyhook.model.diagnostics import Place


@dataclass(frozen=True, slots=True)
class Difference:
    """One event that the two sides decide differently.

    Attributes:
        event: The event, for people.
        source_answer: The answer of the source's hook, in canonical form.
        target_answer: The answer of the migrated hook.
        is_explained: Whether a loss of the migration explains it.
    """

    event: str
    source_answer: Mapping[str, Any]
    target_answer: Mapping[str, Any]
    is_explained: bool


@dataclass(slots=True)
class HookProof:
    """The results of one hook.

    Attributes:
        place: Its place in the source.
        event: Its event at the source.
        label: Its name.
        events: Number of events that reached it, on either side.
        decided: Number of those that it answered.
        differences: The events that are decided differently.
        unstable: Event to the fields of its answers that differ from run to run.
    """

    place: Place
    event: str
    label: str
    events: int = 0
    decided: int = 0
    differences: list[Difference] = field(default_factory=list)
    unstable: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Proof:
    """The result of a proof.

    Attributes:
        events: Number of events.
        hooks: The results of the hooks that were migrated.
        combined: Events on which all hooks together decide differently.
    """

    events: int
    hooks: tuple[HookProof, ...]
    combined: tuple[Difference, ...]

    @property
    def differs(self) -> bool:
        """Whether any event is decided differently."""
        return bool(self.combined or any(hook.differences for hook in self.hooks))

    @property
    def holds(self) -> bool:
        """Whether losses of the migration explain every difference."""
        differences = list(self.combined)
        for hook in self.hooks:
            differences += hook.differences
        return all(difference.is_explained for difference in differences)


HookKey = tuple["Place", str]
"""Place of a hook in the source, and canonical name of its event there."""


@dataclass(slots=True)
class Observation:
    """The answers of both sides to one event, one for each run.

    Attributes:
        label: The event, for people.
        source: Answers of the source's side, in canonical form.
        target: Answers of the migrated side.
        was_skipped: Whether one side did not run the hook, because another one had denied before.
    """

    label: str
    source: list[dict[str, Any]] = field(default_factory=list)
    target: list[dict[str, Any]] = field(default_factory=list)
    was_skipped: bool = False

    @property
    def decides(self) -> bool:
        """Whether any answer has an effect."""
        return any(self.source) or any(self.target)

    def fields(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the fields that differ between the sides, and those that are unstable.

        A field with a value that both sides gave in some run does not differ.
        """
        differing: list[str] = []
        unstable: list[str] = []
        for name in {name: None for answer in self.source + self.target for name in answer}:
            source = [answer.get(name) for answer in self.source]
            target = [answer.get(name) for answer in self.target]
            if any(value in target for value in source):
                continue
            is_stable = _all_equal(source) and _all_equal(target)
            (differing if is_stable else unstable).append(name)
        return tuple(differing), tuple(unstable)

    def difference(self, losses: Sequence[Loss]) -> Difference:
        """Return the last answers of both sides, without unstable fields, as a difference."""
        source, target = self._stable_answers()
        is_explained = any(loss.explains_difference(source, target) for loss in losses)
        return Difference(self.label, source, target, is_explained)

    def combined_difference(self, losses: Sequence[Loss]) -> Difference:
        """Return the same for the combined decision, of which losses explain every field."""
        source, target = self._stable_answers()
        differing, _ = self.fields()
        is_explained = True
        for name in differing:
            before = {name: source[name]} if name in source else {}
            after = {name: target[name]} if name in target else {}
            if not any(loss.explains_difference(before, after) for loss in losses):
                is_explained = False
        return Difference(self.label, source, target, is_explained)

    def _stable_answers(self) -> tuple[dict[str, Any], dict[str, Any]]:
        _, unstable = self.fields()
        return _without(self.source[-1], unstable), _without(self.target[-1], unstable)


def _was_skipped(result: HandlerResult) -> bool:
    """Return whether a hook did not run because its sequence had ended before."""
    return result.status is Status.SKIPPED and result.error is None


def _all_equal(values: Sequence[object]) -> bool:
    return all(value == values[0] for value in values)


def _without(answer: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name not in names}


class Comparison:
    """Collects the answers of both sides over several runs.

    Args:
        migration: What was migrated.
    """

    def __init__(self, migration: Migration) -> None:
        self.migration = migration
        self._hooks: dict[HookKey, HookProof] = {}
        self._origins: dict[tuple[str, str], list[HookKey]] = {}
        self._event_names: dict[int, str] = {}
        # The key `None` stands for all hooks together.
        self._observations: dict[tuple[HookKey | None, int], Observation] = {}
        for entry in migration.entries:
            for handler, origin in entry.handlers:
                place = origin.handler.place
                key = (place, origin.event)
                event = migration.source.by_canonical[origin.event].wire
                self._hooks.setdefault(key, HookProof(place, event, origin.handler.label))
                self._origins.setdefault((entry.event, handler["command"]), []).append(key)

    def moved_definitions(self) -> Iterator[HookDefinition]:
        """Yield the source's definitions with the handlers that were migrated."""
        for definition in self.migration.hooks.definitions:
            handlers = tuple(
                handler
                for handler in definition.handlers
                if (handler.place, definition.event) in self._hooks
            )
            if handlers:
                yield replace(definition, handlers=handlers)

    def record(
        self, number: int, probe: Probe, source: Decision, target: Decision, roots: Sequence[str]
    ) -> None:
        """Record the answers of both sides to one event.

        Args:
            number: Number of the event.
            probe: The event.
            source: Decision of the source's hooks.
            target: Decision of the migrated hooks.
            roots: Directories of this run; they are left out of texts.
        """
        source_agent, target_agent = self.migration.source, self.migration.target
        self._event_names[number] = probe.source_event.name
        source_answers: dict[HookKey | None, dict[str, Any]] = {}
        skipped: set[HookKey | None] = set()
        for result in source.results:
            key = (result.handler.place, probe.source_event.name)
            if key in self._hooks:
                if _was_skipped(result):
                    skipped.add(key)
                source_answers[key] = canonical(
                    result.answer, probe.source_event, source_agent, roots
                )
        target_answers: dict[HookKey | None, dict[str, Any]] = {}
        for result in target.results:
            answer = canonical(result.answer, probe.target_event, target_agent, roots)
            for key in self._origins_of(result, probe):
                if _was_skipped(result):
                    skipped.add(key)
                target_answers[key] = {**target_answers.get(key, {}), **answer}
        source_answers[None] = canonical(answer_of(source), probe.source_event, source_agent, roots)
        target_answers[None] = canonical(answer_of(target), probe.target_event, target_agent, roots)
        label = str(normalize_texts(probe.label, roots)).replace("{project}/", "")
        for hook in {**source_answers, **target_answers}:
            observation = self._observations.setdefault((hook, number), Observation(label))
            observation.source.append(source_answers.get(hook, {}))
            observation.target.append(target_answers.get(hook, {}))
            observation.was_skipped |= hook in skipped

    def _origins_of(self, result: HandlerResult, probe: Probe) -> Iterator[HookKey]:
        event = self.migration.target.by_canonical[probe.target_event.name].wire
        for key in self._origins.get((event, result.handler.command or ""), ()):
            _, source_event = key
            if source_event == probe.source_event.name:
                yield key

    def proof(self, events: int) -> Proof:
        """Compare the answers that were recorded so far."""
        hooks = {
            key: replace(hook, differences=[], unstable={}) for key, hook in self._hooks.items()
        }
        combined: list[tuple[int, Observation]] = []
        numbers_with_differences: set[int] = set()
        for (key, number), observation in self._observations.items():
            differing, unstable = observation.fields()
            if key is None:
                if differing:
                    combined.append((number, observation))
                continue
            hook = hooks[key]
            hook.events += 1
            hook.decided += observation.decides
            if observation.was_skipped:
                continue
            if differing or unstable:
                numbers_with_differences.add(number)
            if unstable:
                hook.unstable[observation.label] = unstable
            if differing:
                hook.differences.append(observation.difference(self._losses_of(hook.place)))
        # Where a single hook differs, that explains the combined decision.
        differences = [
            observation.combined_difference(self._losses_on(number))
            for number, observation in combined
            if number not in numbers_with_differences
        ]
        return Proof(events, tuple(hooks.values()), tuple(differences))

    def _losses_on(self, number: int) -> list[Loss]:
        """Return the losses of all hooks that are migrated to the event of a number."""
        losses: list[Loss] = []
        for place, event in self._hooks:
            if event == self._event_names[number]:
                losses += self._losses_of(place)
        return losses

    def _losses_of(self, place: Place) -> list[Loss]:
        """Return the losses at the place of a hook or of its definition."""
        places = {place}
        for definition in self.migration.hooks.definitions:
            if any(handler.place == place for handler in definition.handlers):
                places.add(definition.place)
        return [loss for loss in self.migration.losses if loss.place in places]

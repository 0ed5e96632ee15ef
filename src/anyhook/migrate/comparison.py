"""Compares what the hooks of the source and the migrated ones decide, by the effects of answers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from anyhook.agents.encode import answer_of
from anyhook.agents.tool_results import read_tool_result
from anyhook.agents.translate import call_of, denial_has_effect
from anyhook.model.answers import Answer, Outcome
from anyhook.model.definitions import each_handler
from anyhook.model.events import ToolEvent
from anyhook.model.status import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from anyhook.agents.spec import AgentSpec
    from anyhook.migrate.context import Loss
    from anyhook.migrate.corpus import Probe
    from anyhook.migrate.plan import Migration
    from anyhook.model.decisions import Decision, HandlerResult
    from anyhook.model.definitions import HookDefinition
    from anyhook.model.diagnostics import Place
    from anyhook.model.events import Event


@dataclass(frozen=True, slots=True)
class Difference:
    """One event that the two sides decide differently."""

    event: str
    source_answer: Mapping[str, Any]
    target_answer: Mapping[str, Any]
    is_explained: bool


@dataclass(slots=True)
class HookProof:
    """The results of one hook."""

    place: Place
    event: str
    label: str
    events: int = 0
    """Number of events that reached it, on either side."""
    decided: int = 0
    differences: list[Difference] = field(default_factory=list)
    unstable: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Event to the fields of its answers that differ from run to run."""


@dataclass(frozen=True, slots=True)
class Proof:
    """The result of a proof."""

    events: int
    hooks: tuple[HookProof, ...]
    combined: tuple[Difference, ...]
    """Events on which all hooks together decide differently."""

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


@dataclass(frozen=True, slots=True)
class ComparedFields:
    """The fields of answers that are not the same on both sides."""

    differing: tuple[str, ...]
    unstable: tuple[str, ...]
    """Fields that differ between the runs of one side, which shows nothing."""


@dataclass(slots=True)
class HookObservation:
    """The answers of both sides to one event, one for each run."""

    label: str
    source: list[dict[str, Any]] = field(default_factory=list)
    target: list[dict[str, Any]] = field(default_factory=list)
    was_skipped: bool = False
    """Whether one side did not run the hook, because another one had denied before."""

    @property
    def decides(self) -> bool:
        """Whether any answer has an effect."""
        return any(self.source) or any(self.target)

    def fields(self) -> ComparedFields:
        """Compare the answers of both sides field by field.

        A field with a value that both sides gave in some run does not differ.
        """
        names: dict[str, None] = {}  # a set that keeps its order
        for answer in self.source + self.target:
            names.update(dict.fromkeys(answer))
        differing: list[str] = []
        unstable: list[str] = []
        for name in names:
            source = [answer.get(name) for answer in self.source]
            target = [answer.get(name) for answer in self.target]
            if any(value in target for value in source):
                continue
            if _all_equal(source) and _all_equal(target):
                differing.append(name)
            else:
                unstable.append(name)
        return ComparedFields(tuple(differing), tuple(unstable))

    def difference(self, losses: Sequence[Loss]) -> Difference:
        """Return the last answers of both sides, without unstable fields, as a difference."""
        source, target = self._stable_answers()
        is_explained = any(loss.explains_difference(source, target) for loss in losses)
        return Difference(self.label, source, target, is_explained)

    def combined_difference(self, losses: Sequence[Loss]) -> Difference:
        """Return the same for the combined decision, of which losses explain every field."""
        source, target = self._stable_answers()
        is_explained = True
        for name in self.fields().differing:
            before, after = _only(source, name), _only(target, name)
            if not any(loss.explains_difference(before, after) for loss in losses):
                is_explained = False
        return Difference(self.label, source, target, is_explained)

    def _stable_answers(self) -> tuple[dict[str, Any], dict[str, Any]]:
        unstable = self.fields().unstable
        return _without(self.source[-1], unstable), _without(self.target[-1], unstable)


def _all_equal(values: Sequence[object]) -> bool:
    return all(value == values[0] for value in values)


def _without(answer: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name not in names}


def _only(answer: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {name: answer[name]} if name in answer else {}


class _Side:
    """What one side decided about one event."""

    def __init__(
        self, agent: AgentSpec, event: Event, decision: Decision, roots: Sequence[str]
    ) -> None:
        self._agent = agent
        self._event = event
        self._roots = roots
        self.answers: dict[HookKey | None, dict[str, Any]] = {
            None: canonical(answer_of(decision), event, agent, roots)
        }
        """Hook to its answer in canonical form; `None` stands for all hooks together."""
        self.skipped: set[HookKey] = set()

    def add(self, hook: HookKey, result: HandlerResult) -> None:
        """Add the result of a handler that a hook became; there may be several."""
        answer = canonical(result.answer, self._event, self._agent, self._roots)
        self.answers[hook] = {**self.answers.get(hook, {}), **answer}
        # Without an error its sequence had ended before.
        if result.status is Status.SKIPPED and result.error is None:
            self.skipped.add(hook)


class Comparison:
    """Collects the answers of both sides over several runs."""

    def __init__(self, migration: Migration) -> None:
        self.migration = migration
        self._hooks: dict[HookKey, HookProof] = {}
        self._origins: dict[tuple[str, str], list[HookKey]] = {}
        self._event_names: dict[int, str] = {}
        # The key `None` stands for all hooks together.
        self._observations: dict[tuple[HookKey | None, int], HookObservation] = {}
        for entry in migration.entries:
            for handler, origin in entry.handlers:
                place = origin.handler.place
                key = (place, origin.event)
                event = migration.source.by_canonical[origin.event].wire
                self._hooks.setdefault(key, HookProof(place, event, origin.handler.label))
                self._origins.setdefault((entry.event, handler["command"]), []).append(key)

    def moved_definitions(self) -> Iterator[HookDefinition]:
        """Return the source's definitions with the handlers that were migrated."""
        hooks = self.migration.hooks.only(
            lambda definition, handler: (handler.place, definition.event) in self._hooks
        )
        return hooks.definitions

    def record(
        self, number: int, probe: Probe, source: Decision, target: Decision, roots: Sequence[str]
    ) -> None:
        """Record the answers of both sides to one event.

        `roots` are the directories of this run; they are left out of texts.
        """
        source_event, target_event = probe.source_event, probe.target_event
        self._event_names[number] = source_event.name
        before = _Side(self.migration.source, source_event, source, roots)
        for result in source.results:
            key = (result.handler.place, source_event.name)
            if key in self._hooks:
                before.add(key, result)
        after = _Side(self.migration.target, target_event, target, roots)
        wire = self.migration.target.by_canonical[target_event.name].wire
        for result in target.results:
            # Several handlers may come from one hook, and several hooks may become one handler.
            origins = self._origins.get((wire, result.handler.command or ""), ())
            keys = [key for key in origins if key[1] == source_event.name]
            # Of hooks with the same command, it is the one that ran in the source, if one did.
            for key in [key for key in keys if key in before.answers] or keys:
                after.add(key, result)
        label = str(normalize_texts(probe.label, roots)).replace("{project}/", "")
        for hook in {**before.answers, **after.answers}:
            observation = self._observations.setdefault((hook, number), HookObservation(label))
            observation.source.append(before.answers.get(hook, {}))
            observation.target.append(after.answers.get(hook, {}))
            if hook in before.skipped or hook in after.skipped:
                observation.was_skipped = True

    def proof(self, events: int) -> Proof:
        """Compare the answers that were recorded so far."""
        hooks = {
            key: replace(hook, differences=[], unstable={}) for key, hook in self._hooks.items()
        }
        combined: list[tuple[int, HookObservation]] = []
        numbers_with_differences: set[int] = set()
        for (key, number), observation in self._observations.items():
            compared = observation.fields()
            if key is None:
                if compared.differing:
                    combined.append((number, observation))
                continue
            hook = hooks[key]
            hook.events += 1
            hook.decided += observation.decides
            if observation.was_skipped:
                continue
            if compared.differing or compared.unstable:
                numbers_with_differences.add(number)
            if compared.unstable:
                hook.unstable[observation.label] = compared.unstable
            if compared.differing:
                hook.differences.append(observation.difference(self._losses_of(hook.place)))
        # Where a single hook differs, that explains the combined decision.
        differences: list[Difference] = []
        for number, observation in combined:
            if number not in numbers_with_differences:
                losses = self._losses_on(number)
                differences.append(observation.combined_difference(losses))
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
        for definition, handler in each_handler(self.migration.hooks.definitions):
            if handler.place == place:
                places.add(definition.place)
        return [loss for loss in self.migration.losses if loss.place in places]


# -- what an answer does

_GENERATED_REASON = re.compile(
    r"blocked by hook .*|hook .* (?:failed|timed out); blocking because .*"
    r"|hook .* failed \(.*\); \w+ denies then",
    re.DOTALL,
)
"""The reason where a hook denies without one; it names the command."""
IGNORED_FIELDS = frozenset({"stop_reason", "suppress_output"})
"""Fields that are compared as part of another one, or have no effect on the agent."""


def canonical(
    answer: Answer, event: Event, agent: AgentSpec, roots: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the effect of an answer, so that answers to different agents can be compared.

    The result maps fields to values and leaves out fields without effect. `roots` are directories
    that stand for the project; in texts they become `{project}`.
    """
    effect: dict[str, Any] = {}
    for name in answer.record_fields:
        if name in IGNORED_FIELDS:
            continue
        reader = READERS.get(name)
        value = reader(answer, event, agent) if reader else getattr(answer, name)
        has_effect = value not in (None, False, "", Outcome.NONE, {})
        if has_effect:
            effect[name] = normalize_texts(value, roots)
    # Ending the loop is stronger than any verdict.
    if "stop" in effect:
        effect.pop("outcome", None)
        effect.pop("approve", None)
    return effect


def normalize_texts(value: Any, roots: Sequence[str]) -> Any:
    """Remove from the texts of a JSON value what only names a directory or a command."""
    if isinstance(value, str):
        text = str(value)
        for root in roots:
            text = text.replace(root, "{project}")
        return _GENERATED_REASON.sub("blocked by a hook", text).strip()
    if isinstance(value, dict):
        return {key: normalize_texts(item, roots) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [normalize_texts(item, roots) for item in value]
    return value


def _outcome(answer: Answer, event: Event, agent: AgentSpec) -> str:
    if answer.outcome is Outcome.DENY and not denial_has_effect(event, agent):
        return ""
    # To an agent, an allowance that approves nothing means no opinion.
    if answer.outcome in (Outcome.NONE, Outcome.ALLOW):
        return ""
    return str(answer.outcome)


def _reason(answer: Answer, event: Event, agent: AgentSpec) -> str | None:
    if answer.stop:
        return answer.reason or answer.stop_reason
    return answer.reason if _outcome(answer, event, agent) else None


def _context(answer: Answer, event: Event, _agent: AgentSpec) -> str | None:
    # A prompt that is denied reaches the agent with nothing next to it.
    is_void = event.name == "before_prompt" and answer.outcome is Outcome.DENY
    return None if is_void else answer.context


def _tool_input(answer: Answer, event: Event, agent: AgentSpec) -> dict[str, Any] | None:
    if answer.tool_input is None or not isinstance(event, ToolEvent):
        return None
    before = call_of(event, agent).arguments
    changed_input = {**event.tool_input, **answer.tool_input}
    after = agent.vocabulary.call(event.tool_name, changed_input).arguments
    return {key: value for key, value in after.items() if before.get(key) != value}


def _tool_output(answer: Answer, event: Event, agent: AgentSpec) -> str | None:
    if answer.tool_output is None or not isinstance(event, ToolEvent):
        return None
    # The reason of a denial takes the place of the output.
    if answer.outcome is Outcome.DENY:
        return None
    return read_tool_result(agent, call_of(event, agent), answer.tool_output).text


def _tool_config(answer: Answer, event: Event, agent: AgentSpec) -> dict[str, Any] | None:
    if answer.tool_config is None:
        return None
    names = answer.tool_config.get("allowedFunctionNames") or []
    request: dict[str, Any] = getattr(event, "llm_request", None) or {}
    is_usual = answer.tool_config.get("mode") == "AUTO" and not names
    if is_usual and not request.get("toolConfig"):
        return None
    tools = sorted(agent.vocabulary.tool(name) for name in names)
    return {**answer.tool_config, "allowedFunctionNames": tools}


def _tail_tool_call(answer: Answer, _event: Event, agent: AgentSpec) -> list[Any] | None:
    if answer.tail_tool_call is None:
        return None
    call = agent.vocabulary.call(answer.tail_tool_call["name"], answer.tail_tool_call["args"])
    return [call.tool, dict(call.arguments)]


READERS: dict[str, Callable[[Answer, Event, AgentSpec], Any]] = {
    "outcome": _outcome,
    "reason": _reason,
    "context": _context,
    "tool_input": _tool_input,
    "tool_output": _tool_output,
    "tool_config": _tool_config,
    "tail_tool_call": _tail_tool_call,
}
"""Field of an answer to its canonical value, where that is not the value itself."""

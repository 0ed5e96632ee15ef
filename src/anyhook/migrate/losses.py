"""What a migration loses, and what people can do about it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyhook.agents.capabilities import ABILITIES, Support, support
from anyhook.agents.payloads import NOT_IN_PAYLOAD, decode_event, payload_key
from anyhook.agents.spec import Denial, PlainText
from anyhook.authoring.degrade import NAMES, fit
from anyhook.model.answers import Outcome
from anyhook.model.events import event_class

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.model.diagnostics import Place

KINDS = {
    "lost": "does not run there",
    "weaker": "has less effect there",
    "changed": "works otherwise there",
    "note": "nothing is lost",
}
"""Kind of a loss to what it means."""
INSTEAD = {
    "ability": "test it with --prove, and answer another way if that is not enough",
    "field": "let the command do without it",
}


@dataclass(frozen=True, slots=True)
class Loss:
    """One thing that does not come along whole.

    Attributes:
        kind: A key of `KINDS`.
        place: Where it is written in the source.
        what: The piece.
        why: The reason.
        instead: What to do.
        explains: What of an answer may differ because of it: fields in canonical form, verdicts
            (`deny`, `ask`, …), `MORE` (the target says something where the source is silent), or
            `ANYTHING`.
    """

    kind: str
    place: Place | None
    what: str
    why: str
    instead: str
    explains: frozenset[str] = frozenset()

    @property
    def counts(self) -> bool:
        """Whether it is more than a note."""
        return self.kind != "note"

    def tells(self, here: Mapping[str, Any], there: Mapping[str, Any]) -> bool:
        """Tell whether it had told of a difference.

        Args:
            here: What the source's hook says, in canonical form.
            there: What the migrated one says.
        """
        if ANYTHING in self.explains or (MORE in self.explains and there and not here):
            return True
        said = {*here, *(str(here[key]) for key in ("outcome",) if key in here)}
        return not self.explains.isdisjoint(said)


ANYTHING = "*"
MORE = "more"
_EVENTS = {
    "subagent_stop": "guard the tool that starts agents: {before_tool} or {after_tool}",
    "subagent_start": "guard the tool that starts agents: {before_tool}",
    "permission_request": "decide in {before_tool}: ask or deny there",
    "permission_denied": "decide in {before_tool}",
    "user_prompt_expansion": "look at the prompt in {before_prompt}",
    "post_tool_batch": "look at each tool in {after_tool}",
    "before_model": "look at prompts in {before_prompt} and at tools in {before_tool}",
    "after_model": "look at what the agent does in {before_tool}, or at its end in {after_agent}",
    "before_tool_selection": "deny the tools in {before_tool}",
    "post_compact": "use {before_compress}, or {session_start}",
    "setup": "use {session_start}",
    "instructions_loaded": "use {session_start}",
    "stop_failure": "use {session_end}",
    "task_completed": "use {after_agent}",
    "task_created": "use {before_tool}",
    "file_changed": "look at files in {after_tool}",
}
_KINDS = {
    "prompt": "write a command that asks a model, or that decides by itself",
    "agent": "write a command that starts an agent",
    "http": "write a command that sends the event with curl and prints the answer",
    "mcp_tool": "write a command that calls the server",
}


def event_advice(event: str, target: AgentSpec) -> str:
    """Say what can stand in for an event that an agent does not have."""
    names = {name: spec.wire for name, spec in target.by_canonical.items()}
    try:
        return _EVENTS[event].format(**names)
    except KeyError:
        return "there is nothing like it"


def kind_advice(kind: str) -> str:
    """Say what can stand in for a kind of handler that an agent does not have."""
    return _KINDS.get(kind, "write a command that does it")


def lost_abilities(
    source: AgentSpec,
    old: EventSpec,
    target: AgentSpec,
    new: EventSpec,
    text: str,
    *,
    is_whole: bool,
) -> Iterator[tuple[str, str, str, str]]:
    """Yield what a command may answer that has less effect under another agent.

    Args:
        source: The agent that it was written for.
        old: The event there.
        target: The other agent.
        new: The event there.
        text: All that is known of the command's text.
        is_whole: Whether that is all; otherwise nothing is known of what it answers.

    Yields:
        The kind of loss, what, why, and what of an answer it explains.
    """
    said = [name for name in ABILITIES if not is_whole or _mentions(source, old, name, text)]
    for ability in said:
        has = support(source, old.canonical, ability) in (Support.YES, Support.UNDOCUMENTED)
        if not has or support(target, new.canonical, ability) in (
            Support.YES,
            Support.UNDOCUMENTED,
        ):
            continue
        if not is_whole and ability not in DECIDING:
            continue  # nothing is known of it: only what guards rest on is worth a line
        _, sample = ABILITIES[ability]
        event, _ = decode_event(target, {target.event_key: new.wire})
        _, notes = fit(target, event, sample.replace(reason="…") if ability == "ask" else sample)
        field = ABILITIES[ability][0]
        explains = ability if field == "outcome" else field
        why = "; ".join(notes) or f"{target.title} does not do it"
        yield "weaker", NAMES[ability], why, explains
    denies = support(source, old.canonical, "deny") is Support.YES and "deny" in said
    denies = denies and support(target, new.canonical, "deny") in (
        Support.YES,
        Support.UNDOCUMENTED,
    )
    if denies and old.denial is not new.denial and new.denial is not Denial.NOTHING:
        hides = old.denial is Denial.HIDES
        replaces = support(target, new.canonical, "replace_result") is Support.YES
        if hides and replaces:
            return  # the shim puts the reason in place of the result
        kind = "weaker" if hides else "changed"
        there = f"on {new.wire} in {target.title} {DENIALS[new.denial]}"
        yield kind, NAMES["deny"], f"{DENIALS[old.denial]}; {there}", "deny"


PLAIN = {
    PlainText.SYSTEM_MESSAGE: "tell",
    PlainText.CONTEXT: "context",
    PlainText.TOOL_NAMES: "filter_tools",
}
"""What plain text on standard output asks for."""
_PRINTS = re.compile(
    r"""\b(?:echo|printf|print|puts|console\.log)\b(?![\s(]*["']?\{)"""
    r"""(?![^;\n|&]*(?:>&2|stderr|>>?\s*[\w"'$./~]))"""
)
_SILENT = re.compile(r"\s*(?:true|:|exit\s+\d+)?\s*\Z")
DECIDING = frozenset({"deny", "ask", "stop", "rewrite"})
DENIALS = {
    Denial.PREVENTS: "a denial prevents it",
    Denial.HIDES: "the reason takes the place of the result",
    Denial.INFORMS: "the reason stands beside the result",
    Denial.ENDS: "the agent ends its turn",
    Denial.CONTINUES: "the agent goes on with the reason",
    Denial.NOTHING: "a denial does nothing",
}


def _mentions(source: AgentSpec, old: EventSpec, ability: str, text: str) -> bool:
    """Tell whether a text has the words that ask for an ability."""
    field, sample = ABILITIES[ability]
    if PLAIN.get(old.plain_text) == ability and _prints_text(source, old, text):
        return True
    wanted = "outcome" if field == "approve" else field
    for item in source.output_fields:
        if item.field != wanted or not item.belongs_to(old.canonical):
            continue
        if wanted != "outcome":
            said = all(re.search(rf"\b{key}\b", text) for key in item.path)
            if said and _value_is_set(item.kind, item.path[-1], text):
                return True
            continue
        words = item.words or source.decision_words
        meant = [
            word
            for word, (outcome, approve) in words.items()
            if outcome is sample.outcome and approve >= sample.approve
        ]
        if any(re.search(rf"""["']{word}\\?["']""", text) for word in meant):
            return True
    return sample.outcome is Outcome.DENY and re.search(r"exit[ (]*2\b", text) is not None


def _prints_text(source: AgentSpec, old: EventSpec, text: str) -> bool:
    """Tell whether a text prints something that is not the JSON of an answer."""
    if any(re.search(rf"\b{item.path[-1]}\b", text) for item in source.output_fields):
        return False
    if old.plain_text is PlainText.CONTEXT:  # what such a hook is for
        return _SILENT.match(text) is None
    return _PRINTS.search(text) is not None


def _value_is_set(kind: str, key: str, text: str) -> bool:
    if kind != "not_boolean":
        return True
    return re.search(rf"{key}\W+(?:false|False)", text) is not None


def lost_fields(
    source: AgentSpec, old: EventSpec, target: AgentSpec, new: EventSpec, text: str
) -> Iterator[tuple[str, str]]:
    """Yield what a command reads of its event that another agent does not tell.

    Yields:
        What, and why.
    """
    cls, there = event_class(old.canonical), event_class(new.canonical)
    if new.canonical != old.canonical:
        return  # the shim makes up the one event from the other
    for name in cls.record_fields:
        key = None if name in NOT_IN_PAYLOAD else payload_key(source, old, name)
        if key is None or name in target.field_defaults or name in SMALL_WORDS:
            continue
        known = name in there.record_names and payload_key(target, new, name) is not None
        if not known and re.search(rf"\b{key}\b", text):
            yield f"reads {key!r}", f"{target.title} does not tell it"
    if re.search(r"\btranscript_path\b", text) and source.config_dir != target.config_dir:
        yield "reads the transcript", f"the transcripts of {target.title} have another form"


SMALL_WORDS = frozenset({"prompt", "model", "title", "error", "effort", "timestamp", "details"})
"""Fields whose names are words that stand in any script."""

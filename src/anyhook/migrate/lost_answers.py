"""Answers of a command, and fields of events that it reads, that another agent does not have.

What a command may answer is found by the words in its text, as it is not run.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from anyhook.agents.capabilities import ABILITIES, Support, support
from anyhook.agents.payloads import NOT_IN_PAYLOAD, decode_event, payload_key
from anyhook.agents.samples import samples_of
from anyhook.agents.spec import Denial, PlainText
from anyhook.authoring.degrade import NAMES, fit
from anyhook.authoring.inspect import AUTHORING, CALLS
from anyhook.migrate.context import ANYTHING, ASKS
from anyhook.model.answers import Outcome
from anyhook.model.events import event_class

if TYPE_CHECKING:
    from anyhook.agents.spec import AgentSpec, EventSpec, OutputField
    from anyhook.migrate.context import HandlerMigration

SUPPORTED = (Support.YES, Support.UNDOCUMENTED)
DECIDING = frozenset({"deny", "ask", "stop", "rewrite"})
"""Abilities that guards depend on."""
PLAIN_TEXT_ABILITIES = {
    PlainText.SYSTEM_MESSAGE: "message",
    PlainText.CONTEXT: "context",
    PlainText.CLEAN_CONTEXT: "context",
    PlainText.TOOL_NAMES: "filter_tools",
}
"""Meaning of plain text on standard output to the ability that it uses."""
DENIALS = {
    Denial.PREVENTS: "a denial prevents it",
    Denial.HIDES: "the reason takes the place of the result",
    Denial.INFORMS: "the reason stands next to the result",
    Denial.ENDS: "the agent ends its turn",
    Denial.EMPTIES: "the model is offered no tool",
    Denial.CONTINUES: "the agent continues with the reason as its next prompt",
    Denial.NOTHING: "a denial does nothing",
}
COMMON_WORDS = frozenset({"prompt", "model", "title", "error", "effort", "timestamp", "details"})
"""Fields of events whose names stand in any script."""
_PRINT = r"\b(?:echo|printf|print|puts|console\.log)\b"
_NOT_REDIRECTED = r"""(?![^;\n|&]*(?:>&2|stderr|>>?\s*[\w"'$./~]))"""
# Prints plain text, not JSON, and not to standard error or a file.
_PRINTS = re.compile(rf"""{_PRINT}(?![\s(]*["']?\{{){_NOT_REDIRECTED}""")
# Prints a text that is written there and starts with a word, which JSON does not.
_PRINTS_WORDS = re.compile(rf"""{_PRINT}(?=[\s(]*f?["']\w){_NOT_REDIRECTED}""")
_SILENT = re.compile(r"\s*(?:true|:|exit\s+\d+)?\s*\Z")
# Reads a member of `mcp_context` that is not a part of the tool's name.
_READS_OF_SERVER = re.compile(r"\bmcp_context\b\W+(?:(?:get|or)\W+)*(?:command|args|cwd|url|tcp)\b")
_EXITS_WITH_2 = re.compile(r"exit[ (]*2\b")


def record_lost_abilities(move: HandlerMigration, text: str, *, is_whole: bool) -> None:
    """Record the answers of a command that have less or another effect under the target.

    If the known text is not whole, the command may give any answer.
    """
    mentioned = [ability for ability in ABILITIES if mentions_ability(move, ability, text)]
    abilities = mentioned if is_whole else list(ABILITIES)
    source, target = move.source, move.target
    source_event, target_event = move.source_event, move.target_event
    for ability in abilities:
        before = support(source, source_event.canonical, ability)
        after = support(target, target_event.canonical, ability)
        # Of a command with unknown text only the loss of what guards depend on is worth a line.
        is_relevant = ability in mentioned or ability in DECIDING
        if not is_relevant or before is Support.NO or after is Support.YES:
            continue
        kind = "weaker"
        field, sample = ABILITIES[ability]
        if after is Support.UNDOCUMENTED:
            if before is Support.UNDOCUMENTED:
                continue
            release = target.rule_sets["observed"].version
            reason = (
                f"release {release} has it on {target_event.wire}, but the reference of "
                f"{target.title} does not mention it"
            )
        elif before is Support.PROMISED:
            kind = "note"
            release = source.rule_sets["observed"].version
            reason = (
                f"{target.title} does not do it on {target_event.wire}; release {release} of "
                f"{source.title} ignores it, too, although its reference describes it"
            )
        else:
            if ability == "ask":
                sample = sample.replace(reason="…")
            event, _ = decode_event(target, {target.event_key: target_event.wire})
            _, notes = fit(target, event, sample)
            reason = "; ".join(notes) or f"{target.title} does not do it"
        explains = [ability if field == "outcome" else field]
        if ability == "replace_result":
            # Of some tools an agent replaces no result; a hook file gives it the text as context.
            explains.append("context")
        _record(move, kind, ability, reason, *explains)
    if "deny" in abilities:
        _record_changed_denial(move)
    if "stop" in abilities:
        _record_stop_that_denies(move)
    if _calls_function("ask", text):
        _record_denial_that_asks(move)


def _target_has(move: HandlerMigration, ability: str) -> bool:
    return support(move.target, move.target_event.canonical, ability) in SUPPORTED


def _record_changed_denial(move: HandlerMigration) -> None:
    """Record a denial that both agents have and that does something else under the target."""
    before, after = move.source_event.denial, move.target_event.denial
    denies = support(move.source, move.source_event.canonical, "deny") is Support.YES
    if not denies or not _target_has(move, "deny") or after in (before, Denial.NOTHING):
        return
    target, event = move.target, move.target_event
    hides = before is Denial.HIDES
    # The shim puts the reason in the place of the result.
    if hides and support(target, event.canonical, "replace_result") is Support.YES:
        return
    reason = f"{DENIALS[before]}; on {event.wire} in {target.title} {DENIALS[after]}"
    kind = "weaker" if hides else "changed"
    _record(move, kind, "deny", reason, "deny")


def _record_stop_that_denies(move: HandlerMigration) -> None:
    """Record that stopping also denies under the target, which drops the answers of others."""
    before, after = move.source_event, move.target_event
    denies = after.implied_fields.get("stop", {}).get("outcome") is Outcome.DENY
    denies_too = before.implied_fields.get("stop", {}).get("outcome") is Outcome.DENY
    dropped = after.discarded_on_denial & before.effective_fields
    source_stops = support(move.source, before.canonical, "stop") in SUPPORTED
    if not (denies and dropped and source_stops and _target_has(move, "stop")) or denies_too:
        return
    names = ", ".join(sorted(dropped))
    reason = (
        f"on {after.wire} in {move.target.title} stopping is a denial, and a denial drops the "
        f"{names} of all hooks"
    )
    _record(move, "changed", "stop", reason, *dropped)


def _record_denial_that_asks(move: HandlerMigration) -> None:
    """Record that a hook file asks the user under the target, where the source cannot ask."""
    source_asks = support(move.source, move.source_event.canonical, "ask") in SUPPORTED
    if source_asks or not _target_has(move, "ask"):
        return
    reason = f"{move.target.title} asks its user where {move.source.title} denies the call"
    _record(move, "changed", "ask", reason, ASKS)


def _record(move: HandlerMigration, kind: str, ability: str, reason: str, *explains: str) -> None:
    subject = f"{move.handler.label}: {NAMES[ability]}"
    remedy = "test it with --prove, and answer another way if that is not enough"
    move.record_loss(kind, subject, reason, remedy, *explains)


def mentions_ability(move: HandlerMigration, ability: str, text: str) -> bool:
    """Return whether a text has the words that use an ability."""
    source, event = move.source, move.source_event
    field, sample = ABILITIES[ability]
    uses_plain_text = PLAIN_TEXT_ABILITIES.get(event.plain_text) == ability
    if uses_plain_text and _prints_text(source, event, text):
        return True
    denies_by_exit_code = sample.outcome is Outcome.DENY and _EXITS_WITH_2.search(text)
    if denies_by_exit_code or _calls_function(ability, text):
        return True
    answer_field = "outcome" if field == "approve" else field
    for item in source.output_fields:
        if item.field != answer_field or not item.belongs_to(event.canonical):
            continue
        if answer_field != "outcome" or item.kind == "continuation":
            if _sets_member(item, text):
                return True
            continue
        for word, (outcome, approve) in (item.words or source.decision_words).items():
            if outcome is not sample.outcome or approve < sample.approve:
                continue
            pattern = rf"""["']{word}\\?["']"""
            if isinstance(word, bool):
                pattern = rf"{item.path[-1]}\W+(?:{word}|{str(word).lower()})"
            if re.search(pattern, text):
                return True
    return False


def _calls_function(ability: str, text: str) -> bool:
    """Return whether a text that uses `anyhook.authoring` calls the function of an ability."""
    if AUTHORING not in text:
        return False
    functions = [function for function in CALLS if CALLS[function] == ability]
    return any(re.search(rf"\b{function}\(", text) for function in functions)


def _sets_member(item: OutputField, text: str) -> bool:
    if not all(re.search(rf"\b{key}\b", text) for key in item.path):
        return False
    if item.kind != "not_boolean":
        return True
    return re.search(rf"{item.path[-1]}\W+(?:false|False)", text) is not None


def _prints_text(source: AgentSpec, event: EventSpec, text: str) -> bool:
    """Return whether a text prints something that is not the JSON of an answer."""
    is_context = event.plain_text in (PlainText.CONTEXT, PlainText.CLEAN_CONTEXT)
    if any(re.search(rf"\b{item.path[-1]}\b", text) for item in source.output_fields):
        # A script may print JSON on some events and plain text on others.
        return is_context and _PRINTS_WORDS.search(text) is not None
    # Such hooks exist to print: every command that is not silent counts.
    if is_context:
        return _SILENT.match(text) is None
    return _PRINTS.search(text) is not None


def _reads_member(text: str, member: str) -> bool:
    """Return whether a text reads a member of a payload that no typed event has."""
    start = r"(?:\.|\[\\?[\"']|\bget\(\\?[\"'])"
    if member not in COMMON_WORDS:
        start = r"[.\"']"
    return re.search(rf"{start}{member}\b", text) is not None


def record_lost_fields(move: HandlerMigration, text: str) -> None:
    """Record what a command reads of its event that the target does not send."""
    source, event = move.source, move.source_event
    target, target_event = move.target, move.target_event
    # The shim constructs one event from another.
    if target_event.canonical != event.canonical:
        return
    keys: set[str | None] = set(event.payload_members)
    lost: list[tuple[str, str]] = []
    for name in event_class(event.canonical).record_fields:
        key = None if name in NOT_IN_PAYLOAD else payload_key(source, event, name)
        keys.add(key)
        if key is None or name in target.field_defaults or name in COMMON_WORDS:
            continue
        # The shim finds the server in the tool's name.
        if name == "mcp_context" and (
            "{server}" in target.vocabulary.mcp_name and _READS_OF_SERVER.search(text) is None
        ):
            continue
        if payload_key(target, target_event, name) is None and re.search(rf"\b{key}\b", text):
            lost.append((f"reads {key!r}", f"{target.title} does not send it"))
    untyped = samples_of(source).events.get(event.wire, {}).keys() - keys
    for member in sorted(untyped):
        if _reads_member(text, member):
            reason = f"anyhook cannot make it from the events of {target.title}"
            lost.append((f"reads {member!r}", reason))
    has_other_form = source.settings.config_dir != target.settings.config_dir
    if has_other_form and re.search(r"\btranscript_path\b", text):
        lost.append(("reads the transcript", f"the transcripts of {target.title} differ in form"))
    for subject, reason in lost:
        remedy = "change the command so that it does not need it"
        move.record_loss("changed", f"{move.handler.label}: {subject}", reason, remedy, ANYTHING)

"""Denials that the command line of a hook drops: `guard.sh || true` ends with 0.

The exit code of the script is followed to the end of the line. What is not known counts as a code
that denies, so that only a denial is reported that is lost in any case.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from anyhook.agents.spec import Denial
from anyhook.authoring.inspect import AUTHORING
from anyhook.checks.hook_line import (
    HookLine,
    LineCodes,
    count_name,
    denying_codes,
    has_input,
    pipelines_of,
)
from anyhook.checks.scripts import CheckedScript, read_scripts
from anyhook.checks.settings import shell_syntax_problem
from anyhook.expressions import expression
from anyhook.shell.parser import UnreadableError
from anyhook.shell.programs import base_name
from anyhook.shell.structure import Block, Element, Pipeline, parse_script

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyhook.checks.hook import CheckedHook
    from anyhook.model.diagnostics import Diagnostic

_FOLLOWED_NOWHERE = expression(r"\bset\s+-\w*e|errexit|pipefail|\btrap\b|PIPESTATUS|\bwait\b")
"""What makes the exit code of a line depend on more than its last command."""


def lost_denials(hook: CheckedHook) -> Iterator[Diagnostic]:
    """Report a command line that drops the exit code, or the reply, by which its script denies."""
    line = hook.handler.command
    if not line or hook.spec.denial not in (Denial.PREVENTS, Denial.CONTINUES):
        return
    # A line that the shell cannot read ends with 2, and is reported as such.
    if shell_syntax_problem(hook) is not None:
        return
    try:
        block = parse_script(line)
    except UnreadableError:
        return
    for script in read_scripts(hook):
        way = _way_of_denial(hook, script)
        if script.path is None or not way:
            continue
        reason = _loss(HookLine(hook, script.path, line, block), script.text, way)
        if reason:
            name = script.path.name
            yield hook.diagnose(
                "denial-lost",
                f"{reason}, so that a denial of {name} has no effect and {hook.form.title} runs "
                f"the call; write only the start of {name}",
            )


def _loss(line: HookLine, text: str, way: str) -> str:
    """Return how a line loses the denial of a script; empty if it may keep it."""
    hook, block = line.hook, line.block
    starts = line.starts_in(block)
    if not starts:
        if line.is_only_in_unused_function():
            return "the command line does not call the function that starts it"
        return ""
    background = [pipeline for pipeline in pipelines_of(block) if pipeline.operator == "&"]
    without_input = [start for start in line.starts_in(background) if not has_input(start)]
    if all(start in without_input for start in starts):
        return "the command line starts it in the background (&), where it gets no event"
    if _is_event_read_before(block, starts, line.text, text):
        return "a command in front of it reads the event, and it gets none"
    if way == "code" and not _FOLLOWED_NOWHERE.search(line.text):
        codes = LineCodes(line).of_line()
        if codes.isdisjoint(denying_codes(hook)):
            return "the command line drops exit code 2"
    if way == "reply":
        if not line.has_reply_on_stdout(block):
            return "the command line does not send the reply to standard output"
        conditions = ["", *[pipeline.operator for pipeline in block]]
        always = [
            pipeline
            for condition, pipeline in zip(conditions, block, strict=False)
            if condition not in {"&&", "||"}
        ]
        if any(_prints_text(pipeline) for pipeline in always):
            return "the command line prints text next to the reply, which cannot be read then"
    return ""


def _way_of_denial(hook: CheckedHook, script: CheckedScript) -> str:
    """Return by what a script denies: `code` or `reply`; empty if it does not, or by both."""
    facts = script.facts
    if AUTHORING in script.text:
        return "reply"
    decides = any(member in script.text for member in ("decision", "permissionDecision"))
    if facts.may_exit_with_two and not decides:
        return "code" if hook.spec.can_block else ""
    return "reply" if decides and not facts.may_exit_with_two else ""


def _is_event_read_before(block: Block, starts: list[Element], line: str, text: str) -> bool:
    """Return whether a statement surely reads the event in front of all starts of a script.

    If the line, or the text of the script, names again where the event is kept, the script may get
    it from there.
    """
    conditions = ["", *[pipeline.operator for pipeline in block]]
    for index, pipeline in enumerate(block):
        is_sure = conditions[index] not in {"&&", "||"} and pipeline.operator != "&"
        kept = _read_event(pipeline.elements[0]) if is_sure else None
        if kept is None or any(count_name(name, line) > 1 for name in kept.names):
            continue
        if any(count_name(name, text) for name in kept.names if not kept.are_variables):
            continue
        later = [following.elements[0] for following in block[index + 1 :]]
        if all(start in later and not has_input(start) for start in starts):
            return True
    return False


class _KeptEvent(NamedTuple):
    """The names of the files or variables into which a command puts the event."""

    names: list[str]
    are_variables: bool


def _read_event(element: Element) -> _KeptEvent | None:
    """Return where a command puts all of its standard input.

    It is `None` if it may leave some of it for the next command.
    """
    if element.kind == "assignment" and len(element.assignments) == 1:
        (word,) = element.assignments
        name, _, value = word.text.partition("=")
        is_whole = value.startswith(("$(", "`")) and len(word.expansions) == 1
        first = element.substitutions[0][0].elements[0] if is_whole else None
        if first is None or _read_event(first) is None:
            return None
        return _KeptEvent([name], are_variables=True)
    words = [word.text for word in element.words]
    if element.kind != "command" or not words or has_input(element):
        return None
    program, operands = base_name(words[0]), [word for word in words[1:] if word != "-r"]
    files = [redirection.target for redirection in element.redirections]
    match program:
        case "cat" if set(operands) <= {"-"}:
            pass
        case "tee" if not any(word.startswith("-") for word in operands):
            files += operands
        case "read" if operands and not any(word.startswith("-") for word in operands):
            return _KeptEvent(operands, are_variables=True)
        case _:
            return None
    names = [base_name(file) for file in files if file != os.devnull]
    return _KeptEvent(names, are_variables=False)


def _prints_text(pipeline: Pipeline) -> bool:
    """Return whether a statement prints a text that is written out."""
    first, *others = pipeline.elements
    words = [word.text for word in first.words]
    is_vague = any(word.is_vague for word in first.words)
    if others or is_vague or first.redirections or words[:1] not in (["echo"], ["printf"]):
        return False
    text = " ".join(words[1:]).strip()
    return bool(text) and not text.startswith(("{", "-", "%"))

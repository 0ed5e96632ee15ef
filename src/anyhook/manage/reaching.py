"""Find an event that reaches a hook: to fire it, to measure it, to write a case about it."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anyhook.agents.spec import EventSpec
    from anyhook.engine.engine import Engine
    from anyhook.model.definitions import HandlerSpec, HookDefinition

SAMPLE_TOOL, SAMPLE_INPUT = "shell", {"command": "ls"}
MAX_SUBJECTS = 200
"""Subjects that are tried until one reaches the hook."""
_WORD = re.compile(r"[\w-]+")


def reaching_fields(
    engine: Engine, definition: HookDefinition, handler: HandlerSpec
) -> dict[str, Any] | None:
    """Return the fields of an event that reaches a hook, as `make_event` takes them.

    They are a tool and its input, or another subject; empty if the event has no subject. `None` if
    no event that is tried reaches the hook.
    """
    spec = engine.rules.by_canonical.get(definition.event)
    if spec is None:
        return None
    matchers = f"{definition.matcher or ''}|{handler.matcher or ''}"
    words = [*_WORD.findall(matchers), *filter(None, matchers.split("|"))]
    shell = engine.agent.vocabulary.name(SAMPLE_TOOL)
    for subject in islice(_subjects(spec, shell, engine.agent.tools, words), MAX_SUBJECTS):
        plan = engine.plan_for(engine.rules, spec.canonical, subject)
        if handler.identity in [planned.identity for planned in plan.handlers]:
            if spec.subject == "tool_name":
                return {"tool": subject, "input": SAMPLE_INPUT if subject == shell else {}}
            return {spec.subject: subject} if spec.subject and subject else {}
    return None


def _subjects(
    spec: EventSpec, shell: str | None, tools: Iterable[str], words: list[str]
) -> Iterable[str | None]:
    """Return subjects of an event, the usual ones first, then `words` of matchers."""
    if not spec.subject:
        return [spec.matcher_text]
    if spec.subject != "tool_name":
        return dict.fromkeys([*spec.subjects, *words, ""])
    tools_named = [word for word in words if word in tools]
    return dict.fromkeys([*filter(None, [shell]), *tools_named, *tools, *words])

"""The losses of a migration, and what people can do about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from anyhook.agents.spec import AgentSpec
    from anyhook.model.diagnostics import Place

KINDS = {
    "lost": "does not run there",
    "weaker": "has less effect there",
    "changed": "works otherwise there",
    "note": "nothing is lost",
}
"""Kind of a loss to its meaning."""
ANYTHING = "*"
MORE = "more"


@dataclass(frozen=True, slots=True)
class Loss:
    """A piece of the source's settings that the target cannot have unchanged."""

    kind: str
    """A key of `KINDS`."""
    place: Place | None
    subject: str
    reason: str
    remedy: str
    explains: frozenset[str] = frozenset()
    """What may differ in an answer because of it: fields in canonical form, verdicts (`deny`,
    `ask`, …), `MORE` (the target answers where the source does not), or `ANYTHING`."""

    @property
    def counts(self) -> bool:
        """Whether it is more than a note."""
        return self.kind != "note"

    def explains_difference(
        self, source_answer: Mapping[str, Any], target_answer: Mapping[str, Any]
    ) -> bool:
        """Return whether it explains that two answers, in canonical form, differ."""
        if ANYTHING in self.explains:
            return True
        if MORE in self.explains and target_answer and not source_answer:
            return True
        parts = set(source_answer)
        if "outcome" in source_answer:
            parts.add(str(source_answer["outcome"]))
        return not self.explains.isdisjoint(parts)


_EVENT_ADVICE = {
    "subagent_stop": "guard the tool that starts agents: {before_tool} or {after_tool}",
    "subagent_start": "guard the tool that starts agents: {before_tool}",
    "permission_request": "decide in {before_tool}: ask or deny there",
    "pre_skill_shell_command": "nothing there guards shell commands in the text of skills",
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
"""Event to what can replace it, with the target's names of other events."""
_KIND_ADVICE = {
    "prompt": "write a command that asks a model, or that decides by itself",
    "agent": "write a command that starts an agent",
    "http": "write a command that sends the event with curl and prints the answer",
    "mcp_tool": "write a command that calls the server",
}
"""Kind of handler to what can replace it."""


def event_advice(event: str, target: AgentSpec) -> str:
    """Return what can replace an event that an agent does not have."""
    names = {name: spec.wire for name, spec in target.by_canonical.items()}
    try:
        return _EVENT_ADVICE[event].format(**names)
    except KeyError:
        return f"nothing in {target.title} is like it"


def kind_advice(kind: str) -> str:
    """Return what can replace a kind of handler that an agent does not have."""
    return _KIND_ADVICE.get(kind, "write a command that does it")

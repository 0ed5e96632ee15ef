"""Writes the tables of `docs/telemetry.md`: what spans, attributes and metrics hold.

Tests compare them with what is sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from anyhook.telemetry import names

PAGE = Path(__file__).parents[1] / "docs" / "telemetry.md"
START, END = "<!-- telemetry -->\n", "<!-- /telemetry -->"


@dataclass(frozen=True, slots=True)
class SpanName:
    """A kind of span.

    Attributes:
        kind: What it is about.
        name: Its name, with attributes in braces.
        text: What it covers.
    """

    kind: str
    name: str
    text: str


SPANS = (
    SpanName(
        "session",
        "invoke_agent {gen_ai.agent.name}",
        "from the first event of a session with a hook to its end",
    ),
    SpanName("event", "{anyhook.event} {gen_ai.tool.name}", "from the dispatch to the decision"),
    SpanName(
        "hook", "hook {anyhook.hook.name}", "one hook on the event, from its start to its end"
    ),
)


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of spans.

    Attributes:
        key: Its name.
        kinds: The kinds of spans that have it.
        text: What it holds, and when it is set.
        is_content: Whether it is only set with `contents=True`.
    """

    key: str
    kinds: tuple[str, ...]
    text: str
    is_content: bool = False


ALL = ("session", "event", "hook")
EVENTS = ("event",)
HOOKS = ("hook",)

ATTRIBUTES = (
    Attribute(names.OPERATION, ALL, "`invoke_agent`, `run_hooks` or `run_hook`"),
    Attribute(names.CONVERSATION_ID, ALL, "identifier of the session, if the agent sends one"),
    Attribute(names.AGENT_NAME, ALL, "name of the agent, as it writes it itself"),
    Attribute(names.AGENT, ALL, "its name in anyhook, as in `--agent`"),
    Attribute(names.SESSION_EVENTS, ("session",), "number of events since its span began"),
    Attribute(names.SESSION_DENIALS, ("session",), "number of events that were denied or stopped"),
    Attribute(
        names.SESSION_END,
        ("session",),
        "why the span ended: `session_end`, `idle`, `replaced`, `engine_closed` or `closed`",
    ),
    Attribute(names.EVENT, ("event", "hook"), "canonical name of the event: `before_tool`"),
    Attribute(names.AGENT_ID, EVENTS, "the subagent in which it happened"),
    Attribute(names.REQUEST_MODEL, EVENTS, "name of the model, on events that have it"),
    Attribute(names.TOOL_NAME, EVENTS, "the tool, as the agent names it: `Bash`"),
    Attribute(names.TOOL, EVENTS, "its canonical name: `shell`"),
    Attribute(names.TOOL_CALL_ID, EVENTS, "identifier of the call"),
    Attribute(names.OUTCOME, EVENTS, "`allow`, `deny`, `ask`, `defer` or `none`"),
    Attribute(names.STOP, EVENTS, "`true` if a hook ends the agent"),
    Attribute(
        names.BLAME,
        EVENTS,
        "each field of the decision and the hook that set it: `outcome: guard.py`",
    ),
    Attribute(
        names.DIAGNOSTICS, EVENTS, "codes of the problems: see [Diagnostics](diagnostics.md)"
    ),
    Attribute(names.HOOK_NAME, HOOKS, "its name, else the name of its script"),
    Attribute(names.HOOK_KIND, HOOKS, "`command`, `function`, `http`, `prompt` or `mcp_tool`"),
    Attribute(names.HOOK_LAYER, HOOKS, "its layer: `project`, `user`, `runtime`, …"),
    Attribute(names.HOOK_PLACE, HOOKS, "file and line that define it"),
    Attribute(
        names.HOOK_STATUS,
        HOOKS,
        "`ran`, `warned`, `failed`, `timed_out`, `withheld` (not trusted), `skipped` or `started` "
        "(in the background)",
    ),
    Attribute(names.HOOK_OUTCOME, HOOKS, "its own verdict, if it has one"),
    Attribute(names.HOOK_EXIT_CODE, HOOKS, "exit code of a command"),
    Attribute(names.HOOK_SIGNAL, HOOKS, "signal that ended a command"),
    Attribute(names.HOOK_BLAME, HOOKS, "the fields of the decision that it set"),
    Attribute(
        names.ERROR_TYPE,
        ("event", "hook"),
        "`canceled` for an event without a decision; `failed`, `warned` or `timed_out` for a hook",
    ),
    Attribute(names.TOOL_ARGUMENTS, EVENTS, "arguments of the tool as JSON", is_content=True),
    Attribute(names.TOOL_RESULT, EVENTS, "result of the tool as JSON", is_content=True),
    Attribute(names.PROMPT, EVENTS, "the user's prompt", is_content=True),
    Attribute(names.REASON, EVENTS, "reason of the decision", is_content=True),
    Attribute(names.CONTEXT, EVENTS, "texts of hooks for the agent", is_content=True),
    Attribute(names.HOOK_REASON, HOOKS, "reason of the hook", is_content=True),
    Attribute(names.HOOK_STDOUT, HOOKS, "standard output of a command", is_content=True),
    Attribute(names.HOOK_STDERR, HOOKS, "standard error of a command", is_content=True),
    Attribute(names.HOOK_ERROR, HOOKS, "why it failed", is_content=True),
)

METRICS = {
    names.DECISIONS: (names.AGENT_NAME, names.EVENT, names.OUTCOME, names.STOP),
    names.EVENT_DURATION: (names.AGENT_NAME, names.EVENT, names.ERROR_TYPE),
    names.HOOK_DURATION: (
        names.AGENT_NAME,
        names.EVENT,
        names.HOOK_NAME,
        names.HOOK_PLACE,
        names.HOOK_STATUS,
    ),
    names.HOOK_FAILURES: (
        names.AGENT_NAME,
        names.EVENT,
        names.HOOK_NAME,
        names.HOOK_PLACE,
        names.ERROR_TYPE,
    ),
    names.HOOK_TIMEOUTS: (names.AGENT_NAME, names.EVENT, names.HOOK_NAME, names.HOOK_PLACE),
    names.ACTIVE_SESSIONS: (names.AGENT_NAME,),
}
"""Metric to its attributes. Tools and sessions are not among them: they have too many values."""


def tables() -> str:
    """Return the tables of the page."""
    lines = ["### Spans", "", "|span|name||", "|---|---|---|"]
    lines += [f"|{span.kind}|`{span.name}`|{span.text}|" for span in SPANS]
    lines += ["", "### Attributes of spans", "", "|attribute|spans||", "|---|---|---|"]
    for attribute in ATTRIBUTES:
        mark = " (*)" if attribute.is_content else ""
        kinds = ", ".join(attribute.kinds)
        lines.append(f"|`{attribute.key}`|{kinds}|{attribute.text}{mark}|")
    lines += ["", "(*) with `contents=True`", "", "### Metrics", ""]
    lines += ["|metric|instrument|unit||attributes|", "|---|---|---|---|---|"]
    for metric, attributes in METRICS.items():
        keys = ", ".join(f"`{key}`" for key in attributes)
        lines.append(f"|`{metric.name}`|{metric.kind}|`{metric.unit}`|{metric.text}|{keys}|")
    return "\n".join(lines)


if __name__ == "__main__":
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{START}\n{tables()}\n\n{END}{after}", encoding="utf-8")

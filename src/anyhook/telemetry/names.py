"""The names of spans, attributes and metrics; `docs/telemetry.md` shows these tables.

Names that start with `gen_ai.` are of the semantic conventions for generative AI, status
"Development": release 1.41 of the semantic conventions, the last one that holds them, and the
schema `gen-ai-dev/1.42.0-dev` of open-telemetry/semantic-conventions-genai, where they are
developed since. Both define the attributes below alike. `error.type` is stable. What the
conventions do not name has a name of ours, `anyhook.…`.
"""

from __future__ import annotations

from dataclasses import dataclass

SCHEMA_URL = "https://opentelemetry.io/schemas/1.41.0"
"""The release of the semantic conventions that spans and metrics follow."""

CONVERSATION_ID = "gen_ai.conversation.id"
OPERATION = "gen_ai.operation.name"
AGENT_NAME = "gen_ai.agent.name"
AGENT_ID = "gen_ai.agent.id"
REQUEST_MODEL = "gen_ai.request.model"
TOOL_NAME = "gen_ai.tool.name"
TOOL_CALL_ID = "gen_ai.tool.call.id"
TOOL_ARGUMENTS = "gen_ai.tool.call.arguments"
TOOL_RESULT = "gen_ai.tool.call.result"
ERROR_TYPE = "error.type"

AGENT = "anyhook.agent"
SESSION_END = "anyhook.session.end"
SESSION_EVENTS = "anyhook.session.events"
SESSION_DENIALS = "anyhook.session.denials"
EVENT = "anyhook.event"
TOOL = "anyhook.tool"
OUTCOME = "anyhook.outcome"
STOP = "anyhook.stop"
BLAME = "anyhook.blame"
DIAGNOSTICS = "anyhook.diagnostics"
PROMPT = "anyhook.prompt"
REASON = "anyhook.reason"
CONTEXT = "anyhook.context"
HOOK_NAME = "anyhook.hook.name"
HOOK_KIND = "anyhook.hook.kind"
HOOK_LAYER = "anyhook.hook.layer"
HOOK_PLACE = "anyhook.hook.place"
HOOK_STATUS = "anyhook.hook.status"
HOOK_OUTCOME = "anyhook.hook.outcome"
HOOK_EXIT_CODE = "anyhook.hook.exit_code"
HOOK_SIGNAL = "anyhook.hook.signal"
HOOK_BLAME = "anyhook.hook.blame"
HOOK_REASON = "anyhook.hook.reason"
HOOK_STDOUT = "anyhook.hook.stdout"
HOOK_STDERR = "anyhook.hook.stderr"
HOOK_ERROR = "anyhook.hook.error"

INVOKE_AGENT = "invoke_agent"
"""Operation of a session; a well-known value of the conventions."""
RUN_HOOKS = "run_hooks"
"""Operation of an event. `execute_tool` would count the call once more for each of its events."""
RUN_HOOK = "run_hook"
"""Operation of a hook."""
CANCELED = "canceled"
"""`error.type` of an event without a decision: its dispatch was canceled or raised."""


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


_ALL = ("session", "event", "hook")
_EVENTS = ("event",)
_HOOKS = ("hook",)

ATTRIBUTES = (
    Attribute(OPERATION, _ALL, "`invoke_agent`, `run_hooks` or `run_hook`"),
    Attribute(CONVERSATION_ID, _ALL, "identifier of the session, if the agent sends one"),
    Attribute(AGENT_NAME, _ALL, "name of the agent, as it writes it itself"),
    Attribute(AGENT, _ALL, "its name in anyhook, as in `--agent`"),
    Attribute(SESSION_EVENTS, ("session",), "number of events since its span began"),
    Attribute(SESSION_DENIALS, ("session",), "number of events that were denied or stopped"),
    Attribute(
        SESSION_END,
        ("session",),
        "why the span ended: `session_end`, `idle`, `replaced`, `engine_closed` or `closed`",
    ),
    Attribute(EVENT, ("event", "hook"), "canonical name of the event: `before_tool`"),
    Attribute(AGENT_ID, _EVENTS, "the subagent in which it happened"),
    Attribute(REQUEST_MODEL, _EVENTS, "name of the model, on events that have it"),
    Attribute(TOOL_NAME, _EVENTS, "the tool, as the agent names it: `Bash`"),
    Attribute(TOOL, _EVENTS, "its canonical name: `shell`"),
    Attribute(TOOL_CALL_ID, _EVENTS, "identifier of the call"),
    Attribute(OUTCOME, _EVENTS, "`allow`, `deny`, `ask`, `defer` or `none`"),
    Attribute(STOP, _EVENTS, "`true` if a hook ends the agent"),
    Attribute(
        BLAME, _EVENTS, "each field of the decision and the hook that set it: `outcome: guard.py`"
    ),
    Attribute(DIAGNOSTICS, _EVENTS, "codes of the problems: see [Diagnostics](diagnostics.md)"),
    Attribute(HOOK_NAME, _HOOKS, "its name, else the name of its script"),
    Attribute(HOOK_KIND, _HOOKS, "`command`, `function`, `http`, `prompt` or `mcp_tool`"),
    Attribute(HOOK_LAYER, _HOOKS, "its layer: `project`, `user`, `runtime`, …"),
    Attribute(HOOK_PLACE, _HOOKS, "file and line that define it"),
    Attribute(
        HOOK_STATUS,
        _HOOKS,
        "`ran`, `warned`, `failed`, `timed_out`, `withheld` (not trusted), `skipped` or `started` "
        "(in the background)",
    ),
    Attribute(HOOK_OUTCOME, _HOOKS, "its own verdict, if it has one"),
    Attribute(HOOK_EXIT_CODE, _HOOKS, "exit code of a command"),
    Attribute(HOOK_SIGNAL, _HOOKS, "signal that ended a command"),
    Attribute(HOOK_BLAME, _HOOKS, "the fields of the decision that it set"),
    Attribute(
        ERROR_TYPE,
        ("event", "hook"),
        "`canceled` for an event without a decision; `failed`, `warned` or `timed_out` for a hook",
    ),
    Attribute(TOOL_ARGUMENTS, _EVENTS, "arguments of the tool as JSON", is_content=True),
    Attribute(TOOL_RESULT, _EVENTS, "result of the tool as JSON", is_content=True),
    Attribute(PROMPT, _EVENTS, "the user's prompt", is_content=True),
    Attribute(REASON, _EVENTS, "reason of the decision", is_content=True),
    Attribute(CONTEXT, _EVENTS, "texts of hooks for the agent", is_content=True),
    Attribute(HOOK_REASON, _HOOKS, "reason of the hook", is_content=True),
    Attribute(HOOK_STDOUT, _HOOKS, "standard output of a command", is_content=True),
    Attribute(HOOK_STDERR, _HOOKS, "standard error of a command", is_content=True),
    Attribute(HOOK_ERROR, _HOOKS, "why it failed", is_content=True),
)


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric.

    Attributes:
        name: Its name.
        kind: Kind of instrument.
        unit: Unit in the form of UCUM.
        text: What it counts or measures.
        attributes: Its attributes. Tools, sessions and places are none: they have too many values.
    """

    name: str
    kind: str
    unit: str
    text: str
    attributes: tuple[str, ...]


DECISIONS = Metric(
    "anyhook.decisions",
    "counter",
    "{decision}",
    "Decisions on events.",
    (AGENT_NAME, EVENT, OUTCOME, STOP),
)
EVENT_DURATION = Metric(
    "anyhook.event.duration",
    "histogram",
    "s",
    "Duration of an event on which hooks run, from dispatch to decision.",
    (AGENT_NAME, EVENT, ERROR_TYPE),
)
HOOK_DURATION = Metric(
    "anyhook.hook.duration",
    "histogram",
    "s",
    "Duration of the run of a hook.",
    (AGENT_NAME, EVENT, HOOK_NAME, HOOK_PLACE, HOOK_STATUS),
)
HOOK_FAILURES = Metric(
    "anyhook.hook.failures",
    "counter",
    "{failure}",
    "Hooks that failed or ended with a warning.",
    (AGENT_NAME, EVENT, HOOK_NAME, HOOK_PLACE, ERROR_TYPE),
)
HOOK_TIMEOUTS = Metric(
    "anyhook.hook.timeouts",
    "counter",
    "{timeout}",
    "Hooks that were killed at their timeout.",
    (AGENT_NAME, EVENT, HOOK_NAME, HOOK_PLACE),
)
ACTIVE_SESSIONS = Metric(
    "anyhook.active_sessions",
    "updowncounter",
    "{session}",
    "Sessions whose span is open.",
    (AGENT_NAME,),
)
METRICS = (
    DECISIONS,
    EVENT_DURATION,
    HOOK_DURATION,
    HOOK_FAILURES,
    HOOK_TIMEOUTS,
    ACTIVE_SESSIONS,
)

DURATION_BUCKETS = (
    *(0.0001, 0.001, 0.0025, 0.005),
    *(0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92),
)
"""Seconds. The second line is the advice of the conventions for `gen_ai.execute_tool.duration`. The
first one is for functions and warm hooks, which take less than its first bucket."""


def markdown_tables() -> str:
    """Return the tables of `docs/telemetry.md`."""
    lines = ["### Spans", "", "|span|name||", "|---|---|---|"]
    lines += [f"|{span.kind}|`{span.name}`|{span.text}|" for span in SPANS]
    lines += ["", "### Attributes of spans", "", "|attribute|spans||", "|---|---|---|"]
    for attribute in ATTRIBUTES:
        mark = " (*)" if attribute.is_content else ""
        kinds = ", ".join(attribute.kinds)
        lines.append(f"|`{attribute.key}`|{kinds}|{attribute.text}{mark}|")
    lines += ["", "(*) with `contents=True`", "", "### Metrics", ""]
    lines += ["|metric|instrument|unit||attributes|", "|---|---|---|---|---|"]
    for metric in METRICS:
        keys = ", ".join(f"`{key}`" for key in metric.attributes)
        lines.append(f"|`{metric.name}`|{metric.kind}|`{metric.unit}`|{metric.text}|{keys}|")
    return "\n".join(lines)

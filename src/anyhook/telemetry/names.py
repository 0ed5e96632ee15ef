"""The names of attributes and metrics; `tools/telemetry_page.py` describes them.

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
class Metric:
    """A metric.

    Attributes:
        name: Its name.
        kind: Kind of instrument.
        unit: Unit in the form of UCUM.
        text: What it counts or measures.
    """

    name: str
    kind: str
    unit: str
    text: str


DECISIONS = Metric("anyhook.decisions", "counter", "{decision}", "Decisions on events.")
EVENT_DURATION = Metric(
    "anyhook.event.duration",
    "histogram",
    "s",
    "Duration of an event on which hooks run, from dispatch to decision.",
)
HOOK_DURATION = Metric("anyhook.hook.duration", "histogram", "s", "Duration of the run of a hook.")
HOOK_FAILURES = Metric(
    "anyhook.hook.failures", "counter", "{failure}", "Hooks that failed or ended with a warning."
)
HOOK_TIMEOUTS = Metric(
    "anyhook.hook.timeouts", "counter", "{timeout}", "Hooks that were killed at their timeout."
)
ACTIVE_SESSIONS = Metric(
    "anyhook.active_sessions", "updowncounter", "{session}", "Sessions whose span is open."
)

DURATION_BUCKETS = (
    *(0.0001, 0.001, 0.0025, 0.005),
    *(0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92),
)
"""Seconds. The second line is the advice of the conventions for `gen_ai.execute_tool.duration`. The
first one is for functions and warm hooks, which take less than its first bucket."""

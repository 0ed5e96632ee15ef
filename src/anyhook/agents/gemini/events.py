"""The events of Gemini CLI.

Sources: the hooks reference at geminicli.com (G), DeepWork's description of it (D), and where both
are silent the newest documentation of the agent.
"""

from __future__ import annotations

from anyhook.agents.gemini.tools import VOCABULARY
from anyhook.agents.spec import Denial, EventSpec, PlainText
from anyhook.model.answers import Audience, Outcome

COMMON = frozenset({"system_message", "suppress_output"})
VERDICT = COMMON | {"outcome", "approve", "reason", "stop", "stop_reason"}

EVENTS = (
    EventSpec(
        "session_start",
        "SessionStart",
        subject="source",
        subjects=("startup", "resume", "clear"),
        effective_fields=COMMON | {"context"},
        denial=Denial.NOTHING,
    ),
    EventSpec(
        "session_end",
        "SessionEnd",
        subject="reason",
        subjects=("exit", "clear", "logout", "prompt_input_exit", "other"),
        effective_fields=COMMON,
        denial=Denial.NOTHING,
    ),
    EventSpec(
        "before_prompt",
        "BeforeAgent",
        effective_fields=VERDICT | {"context"},
        payload_keys={"source": None},
        chained_fields={"context": "prompt"},
    ),
    EventSpec(
        "after_agent",
        "AfterAgent",
        effective_fields=VERDICT | {"context", "clear_context"},
        denial=Denial.CONTINUES,
        reason_audience=Audience.AGENT,
    ),
    EventSpec(
        "before_model",
        "BeforeModel",
        effective_fields=VERDICT | {"llm_request", "llm_response"},
        field_policies={"llm_response": "response"},
        implied_fields={"llm_response": {"outcome": Outcome.DENY}},
        chained_fields={"llm_request": "llm_request"},
    ),
    EventSpec(
        "after_model",
        "AfterModel",
        effective_fields=VERDICT | {"llm_response"},
        field_policies={"llm_response": "response_patch"},
        chained_fields={"llm_response": "llm_response"},
    ),
    EventSpec(
        "before_tool_selection",
        "BeforeToolSelection",
        effective_fields=COMMON | {"tool_config", "outcome", "reason"},
        denial=Denial.EMPTIES,
        plain_text=PlainText.TOOL_NAMES,
        no_opinion_output="",
        reads_all_output=True,
    ),
    EventSpec(
        "before_tool",
        "BeforeTool",
        subject="tool_name",
        effective_fields=VERDICT | {"context", "tool_input"},
        reason_audience=Audience.AGENT,
        required_arguments=VOCABULARY.required,
        chained_fields={"tool_input": "tool_input"},
    ),
    EventSpec(
        "after_tool",
        "AfterTool",
        subject="tool_name",
        effective_fields=VERDICT | {"context", "tail_tool_call"},
        denial=Denial.HIDES,
        reason_audience=Audience.AGENT,
    ),
    EventSpec(
        "before_compress",
        "PreCompress",
        subject="trigger",
        subjects=("manual", "auto"),
        effective_fields=COMMON | {"outcome", "reason"},
    ),
    EventSpec(
        "notification",
        "Notification",
        subject="notification_type",
        subjects=("ToolPermission",),
        subject_aliases={"ToolPermission": "permission_prompt"},
        effective_fields=COMMON,
        denial=Denial.NOTHING,
    ),
)

"""The generic layer: canonical events and tools as a wire format of their own.

For agents that have no agent yet, and for scripts that want one form of every agent's events.
The names are DeepWork's where it has one; the forms of its `HookInput` and `HookOutput` are read.
"""

from __future__ import annotations

from anyhook.agents.generic import EVENT_NAMES
from anyhook.agents.spec import (
    AgentSpec,
    Denial,
    EventSpec,
    ExitRule,
    OutputAction,
    OutputField,
    RuleSet,
    usual_exits,
)
from anyhook.model.answers import Audience, Outcome
from anyhook.model.sequence import SEQUENCE
from anyhook.model.tools import TOOLS, Tool, Vocabulary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

COMMON = frozenset({"system_message", "suppress_output", "context", "extra", "stop", "stop_reason"})
VERDICT = COMMON | {"outcome", "approve", "reason"}
SUBJECTS = {
    "session_start": "source",
    "session_end": "reason",
    "before_tool": "tool_name",
    "after_tool": "tool_name",
    "before_compress": "trigger",
    "notification": "notification_type",
    "permission_request": "tool_name",
    "permission_denied": "tool_name",
    "pre_skill_shell_command": "tool_name",
    "post_tool_use_failure": "tool_name",
    "setup": "trigger",
    "subagent_start": "agent_type",
    "subagent_stop": "agent_type",
    "post_compact": "trigger",
    "stop_failure": "error",
    "config_change": "source",
    "directory_added": "source",
    "file_changed": "file_name",
    "instructions_loaded": "load_reason",
    "user_prompt_expansion": "command_name",
    "elicitation": "mcp_server_name",
    "elicitation_result": "mcp_server_name",
    "pre_model_switch": "model_name",
    "post_model_switch": "model_name",
    "before_mcp_call": "tool_name",
    "after_mcp_call": "tool_name",
    "before_shell": "command",
    "after_shell": "command",
}
MORE = {
    "before_tool": {"tool_input"},
    "after_tool": {"tool_output", "tail_tool_call"},
    "before_model": {"llm_request", "llm_response"},
    "after_model": {"llm_response"},
    "before_tool_selection": {"tool_config"},
    "after_agent": {"clear_context"},
    "permission_request": {"tool_input"},
    "before_mcp_call": {"tool_input"},
}
"""What an event acts on besides the usual."""
DENIALS = {
    "after_tool": Denial.HIDES,
    "post_tool_use_failure": Denial.INFORMS,
    "after_agent": Denial.CONTINUES,
    "subagent_stop": Denial.CONTINUES,
    "teammate_idle": Denial.CONTINUES,
    **dict.fromkeys(
        tuple(
            "session_start session_end setup notification instructions_loaded "
            "message_display permission_denied subagent_start stop_failure cwd_changed "
            "directory_added file_changed post_compact post_model_switch "
            "before_tool_selection interrupt prompt_transformed after_mcp_call agent_error "
            "session_delete after_shell after_file_edit agent_response agent_thought "
            "after_tab_edit workspace_open".split()
        ),
        Denial.NOTHING,
    ),
}
FOR_AGENT = frozenset(
    {"before_tool", "after_tool", "after_agent", "subagent_stop", "post_tool_use_failure"}
)
COMBINE = {
    "before_model": {"llm_response": "response"},
    "after_model": {"llm_response": "response_patch"},
}
EVENTS = tuple(
    EventSpec(
        name,
        name,
        subject=SUBJECTS.get(name),
        effective_fields=(COMMON if DENIALS.get(name) is Denial.NOTHING else VERDICT)
        | MORE.get(name, set()),
        denial=DENIALS.get(name, Denial.PREVENTS),
        reason_audience=Audience.AGENT if name in FOR_AGENT else Audience.USER,
        field_policies=COMBINE.get(name, {}),
        chained_fields=SEQUENCE.get(name, {}),
        optional_fields=frozenset({"prompt", "prompt_response", "agent_type", "notification_type"}),
    )
    for name in EVENT_NAMES
)

OUTPUT = (
    OutputField(("decision",), "outcome", "decision"),
    OutputField(("reason",), "reason", "string"),
    OutputField(("continue_loop",), "stop", "not_boolean"),
    OutputField(("continue",), "stop", "not_boolean", legacy=True),
    OutputField(("stop_reason",), "stop_reason", "string"),
    OutputField(("system_message",), "system_message", "string"),
    OutputField(("suppress_output",), "suppress_output", "boolean"),
    OutputField(("context",), "context", "string"),
    OutputField(("tool_input",), "tool_input", "object"),
    OutputField(("tool_output",), "tool_output", "any"),
    OutputField(("llm_request",), "llm_request", "llm_request"),
    OutputField(("llm_response",), "llm_response", "llm_response"),
    OutputField(("tool_config",), "tool_config", "tool_config"),
    OutputField(("clear_context",), "clear_context", "boolean"),
    OutputField(("tail_tool_call",), "tail_tool_call", "tool_call"),
)

SUCCEEDS = ExitRule(OutputAction.APPLY, OutputAction.TEXT, OutputAction.TEXT, OutputAction.NOTHING)


EXITS = usual_exits(SUCCEEDS)

DOCUMENTED = RuleSet(
    name="documented",
    release="canonical names of anyhook",
    events=EVENTS,
    exit_rules={"*": EXITS},
)


def add_origin(payload: dict[str, Any], agent: str, original: Mapping[str, Any]) -> None:
    """Add the name of the agent and the payload that it sent."""
    payload["platform"] = agent
    payload["raw_input"] = dict(original)


GENERIC = AgentSpec(
    name="generic",
    title="the generic layer",
    event_key="event",
    add_origin=add_origin,
    documented=DOCUMENTED,
    output_fields=OUTPUT,
    decision_words={
        "allow": (Outcome.ALLOW, False),
        "approve": (Outcome.ALLOW, True),
        "deny": (Outcome.DENY, False),
        "block": (Outcome.DENY, False),
        "ask": (Outcome.ASK, False),
        "defer": (Outcome.DEFER, False),
    },
    foreign_members={
        ("hookSpecificOutput",): "the members without it (tool_input, context, …)",
        ("systemMessage",): "system_message",
        ("stopReason",): "stop_reason",
        ("suppressOutput",): "suppress_output",
    },
    tools=tuple(TOOLS),
    vocabulary=Vocabulary(
        agent="the generic layer",
        tools={name: Tool((name,)) for name in TOOLS},
        mcp_name="mcp__{server}__{tool}",
    ),
    tool_prefix="mcp__",
    foreign_tools=tuple(
        "Bash run_shell_command run_terminal_command Write write_to_file Edit replace Read "
        "grep_search search_file_content google_web_search search_web".split()
    ),
    hook_environment={"ANYHOOK_PROJECT_DIR": "project_dir", "ANYHOOK_SESSION_ID": "session_id"},
    settings_format="anyhook.agents.generic.settings:FORMAT",
)

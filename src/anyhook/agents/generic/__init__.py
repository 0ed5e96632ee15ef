"""Events and tools by their canonical names, for agents without a folder of their own."""

from __future__ import annotations

from anyhook.agents.entry import AgentEntry

EVENT_NAMES = (
    "session_start session_end before_prompt after_agent before_model after_model "
    "before_tool_selection before_tool after_tool before_compress notification setup "
    "instructions_loaded user_prompt_expansion message_display permission_request "
    "permission_denied pre_skill_shell_command post_tool_use_failure post_tool_batch "
    "subagent_start subagent_stop task_created task_completed stop_failure teammate_idle "
    "config_change cwd_changed directory_added file_changed worktree_create worktree_remove "
    "post_compact pre_model_switch post_model_switch elicitation elicitation_result "
    "interrupt prompt_transformed before_mcp_call after_mcp_call agent_error session_delete "
    "todo_created todo_completed before_shell after_shell before_file_read after_file_edit "
    "agent_response agent_thought before_tab_read after_tab_edit workspace_open"
).split()

ENTRY = AgentEntry(
    name="generic",
    spec="anyhook.agents.generic.spec:GENERIC",
    is_program=False,
    event_key="event",
    events=frozenset(EVENT_NAMES),
    absent_members=frozenset({"hook_event_name"}),
    transcript_part="/.anyhook/",
    variables=("ANYHOOK_PROJECT_DIR",),
)

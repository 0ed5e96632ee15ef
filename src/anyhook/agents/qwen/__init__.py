"""Qwen Code."""

from __future__ import annotations

from anyhook.agents.entry import AgentEntry

ENTRY = AgentEntry(
    name="qwen",
    spec="anyhook.agents.qwen.spec:QWEN",
    program="anyhook.agents.qwen.program:PROGRAM",
    transcripts="anyhook.agents.qwen.transcripts:TRANSCRIPTS",
    events=frozenset(
        "PreToolUse PostToolUse PostToolUseFailure PostToolBatch Notification UserPromptSubmit "
        "UserPromptExpansion SessionStart SessionEnd SessionDelete InstructionsLoaded "
        "MessageDisplay Stop StopFailure SubagentStart SubagentStop PreCompact PostCompact "
        "PermissionRequest PermissionDenied TodoCreated TodoCompleted".split()
    ),
    required_members=frozenset({"timestamp", "transcript_path"}),
    transcript_part="/.qwen/",
    tools=frozenset("edit todo_write agent skill notebook_edit tool_search list_agents".split()),
    variables=("QWEN_PROJECT_DIR", "QWEN_CODE_SESSION_ID"),
    child_variables=("QWEN_CODE",),
    extends=frozenset({"gemini", "claude"}),
)

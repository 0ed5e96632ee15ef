"""Claude Code."""

from __future__ import annotations

from anyhook.agents.entry import AgentEntry

ENTRY = AgentEntry(
    name="claude",
    spec="anyhook.agents.claude.spec:CLAUDE",
    program="anyhook.agents.claude.program:PROGRAM",
    transcripts="anyhook.agents.claude.transcripts:TRANSCRIPTS",
    events=frozenset(
        "SessionStart Setup InstructionsLoaded UserPromptSubmit UserPromptExpansion "
        "MessageDisplay PreToolUse PreSkillShellCommand PermissionRequest PermissionDenied "
        "PostToolUse PostToolUseFailure PostToolBatch Notification SubagentStart SubagentStop "
        "TaskCreated TaskCompleted Stop StopFailure TeammateIdle ConfigChange CwdChanged "
        "DirectoryAdded FileChanged WorktreeCreate WorktreeRemove PreCompact PostCompact "
        "PreModelSwitch PostModelSwitch SessionEnd Elicitation ElicitationResult".split()
    ),
    absent_members=frozenset({"timestamp"}),
    transcript_part="/.claude/",
    variables=("CLAUDE_CODE_SESSION_ID", "CLAUDECODE", "CLAUDE_PROJECT_DIR"),
    child_variables=("CLAUDECODE",),
)

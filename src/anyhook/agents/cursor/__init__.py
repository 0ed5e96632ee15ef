"""Cursor: the editor and its command-line agent."""

from __future__ import annotations

from anyhook.agents.entry import AgentEntry

ENTRY = AgentEntry(
    name="cursor",
    spec="anyhook.agents.cursor.spec:CURSOR",
    events=frozenset(
        "sessionStart sessionEnd beforeSubmitPrompt preToolUse postToolUse postToolUseFailure "
        "subagentStart subagentStop beforeShellExecution afterShellExecution beforeMCPExecution "
        "afterMCPExecution beforeReadFile afterFileEdit preCompact stop afterAgentResponse "
        "afterAgentThought beforeTabFileRead afterTabFileEdit workspaceOpen "
        # those of hooks in the settings of Claude Code
        "SessionStart SessionEnd UserPromptSubmit PreToolUse PostToolUse PreCompact Stop "
        "SubagentStop".split()
    ),
    required_members=frozenset({"cursor_version"}),
    transcript_part="/.cursor/",
    variables=("CURSOR_VERSION", "CURSOR_PROJECT_DIR"),
    child_variables=("CURSOR_AGENT",),
    # Cursor sets `CLAUDE_PROJECT_DIR`, too.
    extends=frozenset({"claude"}),
)

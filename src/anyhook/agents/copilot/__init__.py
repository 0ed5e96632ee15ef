"""GitHub Copilot CLI."""

from __future__ import annotations

from anyhook.agents.entry import AgentEntry

SHAPES = {
    "preMcpToolCall": frozenset({"sessionId", "serverName", "toolCallId"}),
    "permissionRequest": frozenset({"sessionId", "toolName", "toolInput"}),
    "postToolUse": frozenset({"sessionId", "toolName", "toolResult"}),
    "postToolUseFailure": frozenset({"sessionId", "toolName", "error"}),
    "preToolUse": frozenset({"sessionId", "toolName"}),
    "userPromptTransformed": frozenset({"sessionId", "transformedPrompt"}),
    "subagentStop": frozenset({"sessionId", "agentName", "stopReason"}),
    "subagentStart": frozenset({"sessionId", "agentName"}),
    "agentStop": frozenset({"sessionId", "stopReason"}),
    "preCompact": frozenset({"sessionId", "trigger"}),
    "errorOccurred": frozenset({"sessionId", "error"}),
    "notification": frozenset({"sessionId", "notification_type"}),
    "sessionStart": frozenset({"sessionId", "source"}),
    "sessionEnd": frozenset({"sessionId", "reason"}),
    "userPromptSubmitted": frozenset({"sessionId", "prompt"}),
}
"""Event to members that only its payloads have; the first match counts."""

PASCAL_NAMES = (
    "SessionStart SessionEnd UserPromptSubmit PreToolUse PostToolUse PostToolUseFailure "
    "PermissionRequest Stop SubagentStart SubagentStop ErrorOccurred PreCompact Notification"
).split()

ENTRY = AgentEntry(
    name="copilot",
    spec="anyhook.agents.copilot.spec:COPILOT",
    program="anyhook.agents.copilot.program:PROGRAM",
    transcripts="anyhook.agents.copilot.transcripts:TRANSCRIPTS",
    events=frozenset({*SHAPES, *PASCAL_NAMES}),
    shapes=SHAPES,
    required_members=frozenset({"timestamp"}),
    absent_members=frozenset({"permission_mode", "tool_use_id", "tool_response"}),
    transcript_part="/.copilot/",
    variables=("COPILOT_CLI", "COPILOT_PROJECT_DIR"),
    child_variables=("COPILOT_CLI",),
    extends=frozenset({"claude"}),
)

"""Codex CLI."""

from __future__ import annotations

from anyhook.agents.entry import AgentEntry

ENTRY = AgentEntry(
    name="codex",
    spec="anyhook.agents.codex.spec:CODEX",
    program="anyhook.agents.codex.program:PROGRAM",
    transcripts="anyhook.agents.codex.transcripts:TRANSCRIPTS",
    events=frozenset(
        "PreModelRequest PostModelRequest PreToolUse PermissionRequest PostToolUse PreCompact "
        "PostCompact SessionStart SessionEnd UserPromptSubmit SubagentStart SubagentStop Stop "
        "Interrupt".split()
    ),
    own_members=frozenset({"turn_id"}),
    absent_members=frozenset({"timestamp", "prompt_id"}),
    transcript_part="/.codex/",
    null_transcript=True,
    tools=frozenset({"apply_patch", "spawn_agent", "collaborationspawn_agent", "view_image"}),
    variables=(),
    child_variables=("CODEX_SANDBOX", "CODEX_THREAD_ID"),
)

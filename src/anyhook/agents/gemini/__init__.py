"""Gemini CLI."""

from __future__ import annotations

from anyhook.agents.entry import AgentEntry

ENTRY = AgentEntry(
    name="gemini",
    spec="anyhook.agents.gemini.spec:GEMINI",
    program="anyhook.agents.gemini.program:PROGRAM",
    transcripts="anyhook.agents.gemini.transcripts:TRANSCRIPTS",
    events=frozenset(
        "SessionStart SessionEnd BeforeAgent AfterAgent BeforeModel AfterModel BeforeToolSelection "
        "BeforeTool AfterTool PreCompress Notification".split()
    ),
    required_members=frozenset({"timestamp", "transcript_path"}),
    absent_members=frozenset({"permission_mode", "prompt_id"}),
    transcript_part="/.gemini/",
    tools=frozenset(
        "run_shell_command write_file replace list_directory glob google_web_search "
        "write_todos".split()
    ),
    variables=("GEMINI_SESSION_ID", "GEMINI_CWD", "GEMINI_PROJECT_DIR"),
    child_variables=("GEMINI_CLI",),
)

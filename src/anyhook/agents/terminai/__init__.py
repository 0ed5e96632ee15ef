"""TerminaI, a fork of Gemini CLI."""

from __future__ import annotations

from anyhook.agents.gemini import ENTRY as GEMINI

ENTRY = GEMINI.replace(
    name="terminai",
    spec="anyhook.agents.terminai.spec:TERMINAI",
    program="",
    transcripts="",
    transcript_part="/.terminai/",
    tools=frozenset(
        "run_terminal_command write_to_file list_files glob_files search_web manage_todos "
        "execute_repl manage_processes file_operations agent_control".split()
    ),
    variables=("TERMINAI_PROJECT_DIR",),
    child_variables=("TERMINAI_CLI", "GEMINI_CLI"),
    extends=frozenset({"gemini"}),
)

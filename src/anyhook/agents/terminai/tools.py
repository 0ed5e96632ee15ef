"""The tools of TerminaI, which renamed most of Gemini CLI's."""

from __future__ import annotations

from anyhook.model.tools import Tool, Vocabulary

REFERENCE_TOOLS = (
    "glob google_web_search list_directory replace run_shell_command search_file_content "
    "write_file write_todos"
).split()
"""Names of Gemini CLI that the reference still uses; the program has renamed these tools."""

TOOLS = (
    *"agent_control delegate_to_agent edit_file execute_repl file_operations get_internal_docs "
    "glob_files grep_search list_files manage_processes manage_todos read_file read_many_files "
    "run_terminal_command save_memory search_web web_fetch write_to_file".split(),
    *REFERENCE_TOOLS,
)

TOOL_TABLE = {
    "shell": Tool(
        ("run_terminal_command", "run_shell_command", "manage_processes", "execute_repl")
    ),
    "read_file": Tool(("read_file",)),
    "read_many_files": Tool(("read_many_files",)),
    "write_file": Tool(("write_to_file", "write_file")),
    "edit_file": Tool(("edit_file", "replace")),
    "list_directory": Tool(("list_files", "list_directory"), {"path": "dir_path"}),
    "glob": Tool(("glob_files", "glob"), {"path": "dir_path"}),
    "grep": Tool(("grep_search", "search_file_content"), {"path": "dir_path", "glob": "include"}),
    "web_fetch": Tool(("web_fetch",)),
    "web_search": Tool(("search_web", "google_web_search")),
    "agent": Tool(("delegate_to_agent",), {"agent_type": "agent_name"}),
    "write_todos": Tool(
        ("manage_todos", "write_todos"), items={"todos": {"content": "description"}}
    ),
    "save_memory": Tool(("save_memory",)),
}
"""The program's name of each tool, then the reference's."""

FOREIGN_TOOLS = tuple(
    "edit shell grep ls web_search Bash Write Edit MultiEdit Read Glob Grep LS WebFetch "
    "WebSearch TodoWrite Task Agent invoke_agent".split()
)
"""Names of tools of other agents that authors write by mistake."""

VOCABULARY = Vocabulary(
    agent="TerminaI",
    tools=TOOL_TABLE,
    mcp_name="{server}__{tool}",
    tool_result_form="anyhook.agents.gemini.tool_results:FORM",
)

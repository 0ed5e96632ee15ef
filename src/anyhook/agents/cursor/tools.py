"""The tools of Cursor."""

from __future__ import annotations

from anyhook.model.tools import Tool, Vocabulary

TOOLS = ("Shell", "Read", "Write", "Grep", "Delete", "Task")
"""The tools of the reference."""
REPORTED_TOOLS = ("StrReplace", "WebFetch", "WebSearch", "TabRead", "TabWrite")
"""Tools that appear in hooks of others (rulesync, agenthooks)."""

TOOL_TABLE = {
    # The reference shows `working_directory`; 3.9.16 sent `cwd` and `timeout`.
    "shell": Tool(("Shell",), {"directory": "working_directory"}),
    "read_file": Tool(("Read",)),
    # `Write` also stands for `Edit` of Claude Code, so hooks for either tool see it.
    "edit_file": Tool(("Write", "StrReplace")),
    "write_file": Tool(("Write",)),
    "grep": Tool(("Grep",)),
    "web_fetch": Tool(("WebFetch",)),
    "web_search": Tool(("WebSearch",)),
    "agent": Tool(("Task",), {"agent_type": "subagent_type"}),
}

FOREIGN_TOOLS = tuple(
    "Agent Bash Edit MultiEdit read_file replace run_shell_command run_terminal_command "
    "shell write_file".split()
)
"""Names of tools of other agents that authors write by mistake."""

VOCABULARY = Vocabulary(
    agent="Cursor",
    tools=TOOL_TABLE,
    mcp_name="MCP:{tool}",
    tool_result_form="anyhook.agents.cursor.tool_results:FORM",
)

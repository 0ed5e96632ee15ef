"""The tools of Gemini CLI."""

from __future__ import annotations

from anyhook.model.tools import Tool, Vocabulary

TOOLS = tuple(
    "activate_skill ask_user complete_task enter_plan_mode exit_plan_mode "
    "get_internal_docs glob google_web_search grep_search invoke_agent "
    "list_directory list_mcp_resources read_file read_many_files read_mcp_resource "
    "replace run_shell_command save_memory search_file_content "
    "tracker_add_dependency tracker_create_task tracker_get_task tracker_list_tasks "
    "tracker_update_task tracker_visualize update_topic web_fetch write_file "
    "write_todos".split()
)

FOREIGN_TOOLS = tuple(
    "Agent Bash Edit Glob Grep LS MultiEdit Read Shell Task TodoWrite WebFetch WebSearch "
    "Write edit grep ls shell".split()
)
"""Names of tools of other agents that authors write by mistake."""

TOOL_TABLE = {
    "shell": Tool(("run_shell_command",), {"directory": "dir_path", "background": "is_background"}),
    "read_file": Tool(("read_file",)),
    "read_many_files": Tool(("read_many_files",)),
    "write_file": Tool(("write_file",)),
    "edit_file": Tool(("replace",), {"replace_all": "allow_multiple"}),
    "list_directory": Tool(("list_directory",), {"path": "dir_path"}),
    "glob": Tool(("glob",), {"path": "dir_path"}),
    "grep": Tool(
        ("grep_search", "search_file_content"), {"path": "dir_path", "glob": "include_pattern"}
    ),
    "web_fetch": Tool(("web_fetch",)),
    "web_search": Tool(("google_web_search",)),
    "agent": Tool(("invoke_agent", "delegate_to_agent"), {"agent_type": "agent_name"}),
    "ask_user": Tool(("ask_user",)),
    "write_todos": Tool(("write_todos",), items={"todos": {"content": "description"}}),
    "save_memory": Tool(("save_memory",)),
    "skill": Tool(("activate_skill",)),
    "enter_plan_mode": Tool(("enter_plan_mode",)),
    "exit_plan_mode": Tool(("exit_plan_mode",)),
}

VOCABULARY = Vocabulary(
    agent="Gemini CLI",
    tools=TOOL_TABLE,
    mcp_name="mcp_{server}_{tool}",
    tool_result_form="anyhook.agents.gemini.tool_results:FORM",
)

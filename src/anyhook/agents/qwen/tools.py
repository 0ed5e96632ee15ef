"""The tools of Qwen Code."""

from __future__ import annotations

from anyhook.model.tools import Tool, Vocabulary

OWN_ALIASES = {
    "AgentTool": "agent",
    "Agent": "agent",
    "Task": "agent",
    "TaskTool": "agent",
    "task": "agent",
    "Edit": "edit",
    "EditTool": "edit",
    "replace": "edit",
    "EnterPlanMode": "enter_plan_mode",
    "EnterPlanModeTool": "enter_plan_mode",
    "ExitPlanMode": "exit_plan_mode",
    "ExitPlanModeTool": "exit_plan_mode",
    "FindFiles": "glob",
    "Glob": "glob",
    "GlobTool": "glob",
    "Grep": "grep_search",
    "GrepTool": "grep_search",
    "SearchFiles": "grep_search",
    "search_file_content": "grep_search",
    "ListFiles": "list_directory",
    "ListFilesTool": "list_directory",
    "ReadFolder": "list_directory",
    "NotebookEdit": "notebook_edit",
    "NotebookEditTool": "notebook_edit",
    "Read": "read_file",
    "ReadFile": "read_file",
    "ReadFileTool": "read_file",
    "Bash": "run_shell_command",
    "Shell": "run_shell_command",
    "ShellTool": "run_shell_command",
    "SaveMemory": "save_memory",
    "SaveMemoryTool": "save_memory",
    "Skill": "skill",
    "SkillTool": "skill",
    "TodoList": "todo_write",
    "TodoListTool": "todo_write",
    "TodoWrite": "todo_write",
    "TodoWriteTool": "todo_write",
    "WebFetch": "web_fetch",
    "WebFetchTool": "web_fetch",
    "WebSearch": "web_search",
    "WebSearchTool": "web_search",
    "Write": "write_file",
    "WriteFile": "write_file",
    "WriteFileTool": "write_file",
    "Goal": "get_goal",
    "GoalTool": "get_goal",
    "GetGoal": "get_goal",
}
"""Name that matchers may have to the tool; each is compared exactly."""

DISPLAY_NAMES = {
    "artifact": "Artifact",
    "ask_user_question": "AskUserQuestion",
    "create_sub_session": "CreateSubSession",
    "cron_create": "CronCreate",
    "cron_delete": "CronDelete",
    "cron_list": "CronList",
    "display_image": "DisplayImage",
    "enter_worktree": "EnterWorktree",
    "exec": "Exec",
    "exit_worktree": "ExitWorktree",
    "image_gen": "ImageGen",
    "list_agents": "ListAgents",
    "loop_wakeup": "LoopWakeup",
    "lsp": "Lsp",
    "monitor": "Monitor",
    "propose_goal": "ProposeGoal",
    "read_mcp_resource": "ReadMcpResource",
    "record_artifact": "RecordArtifact",
    "record_source": "RecordSource",
    "report_findings": "ReportFindings",
    "request_shutdown": "RequestShutdown",
    "send_message": "SendMessage",
    "structured_output": "StructuredOutput",
    "task_create": "TaskCreate",
    "task_list": "TaskList",
    "task_stop": "TaskStop",
    "task_update": "TaskUpdate",
    "team_create": "TeamCreate",
    "team_delete": "TeamDelete",
    "team_plan_approval": "TeamPlanApproval",
    "tool_call": "ToolCall",
    "tool_search": "ToolSearch",
    "update_goal": "UpdateGoal",
    "workflow": "Workflow",
    "zoom_image": "ZoomImage",
}
"""Tool to the name that users see; matchers may have it, also with `Tool` behind it."""

TOOL_ALIASES = {
    **OWN_ALIASES,
    **{name: tool for tool, name in DISPLAY_NAMES.items()},
    **{f"{name}Tool": tool for tool, name in DISPLAY_NAMES.items()},
}

TOOLS = (
    *dict.fromkeys(TOOL_ALIASES.values()),
    *TOOL_ALIASES,
)

TOOL_TABLE = {
    "shell": Tool(("run_shell_command", "monitor"), {"background": "is_background"}),
    "read_file": Tool(("read_file",)),
    "write_file": Tool(("write_file",)),
    "edit_file": Tool(("edit",)),
    "edit_notebook": Tool(("notebook_edit",)),
    "list_directory": Tool(("list_directory",)),
    "glob": Tool(("glob",)),
    "grep": Tool(("grep_search",), {"head_limit": "limit"}),
    "web_fetch": Tool(("web_fetch",)),
    "web_search": Tool(("web_search",)),
    "agent": Tool(("agent",), {"agent_type": "subagent_type", "background": "run_in_background"}),
    "ask_user": Tool(("ask_user_question",)),
    "write_todos": Tool(("todo_write",)),
    "save_memory": Tool(("save_memory",)),
    "skill": Tool(("skill",), {"name": "skill"}),
    "enter_plan_mode": Tool(("enter_plan_mode",)),
    "exit_plan_mode": Tool(("exit_plan_mode",)),
}

FOREIGN_TOOLS = tuple(
    "LS MultiEdit ask_user google_web_search invoke_agent run_terminal_command "
    "write_to_file write_todos".split()
)
"""Names of tools of other agents that authors write by mistake."""

VOCABULARY = Vocabulary(
    agent="Qwen Code",
    tools=TOOL_TABLE,
    mcp_name="mcp__{server}__{tool}",
    tool_result_form="anyhook.agents.gemini.tool_results:FORM",
)

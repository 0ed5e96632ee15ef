"""The tools of Claude Code."""

from __future__ import annotations

from anyhook.model.tools import Tool, Vocabulary

TOOL_ALIASES = {
    "Task": "Agent",
    "KillShell": "TaskStop",
    "KillBash": "TaskStop",
    "ListPeers": "ListAgents",
    "Brief": "SendUserMessage",
    "ListMcpResources": "ListMcpResourcesTool",
    "ReadMcpResource": "ReadMcpResourceTool",
    "ReadMcpResourceDir": "ReadMcpResourceDirTool",
    "ProposeGoal": "SetGoal",
}
"""Tool name of older releases to today's; matchers with the old name still match."""

TOOLS = (
    *"Agent Artifact AskUserQuestion Bash BashOutput ClaudeDesign CronCreate CronDelete CronList "
    "Edit EndConversation EnterPlanMode EnterWorktree ExitPlanMode ExitWorktree Glob Grep LS LSP "
    "ListAgents ListMcpResourcesTool Monitor MultiEdit NotebookEdit NotebookRead "
    "OfferChromeSetup PowerShell Projects PushNotification REPL Read ReadMcpResourceDirTool "
    "ReadMcpResourceTool ReadNotifications RefreshMcpTools RemoteTrigger ReportFindings "
    "ScheduleWakeup SendFeedback SendMessage SendUserFile SendUserMessage SetGoal "
    "ShareOnboardingGuide ShowOnboardingRolePicker Skill SlashCommand SubagentHandback TaskCreate "
    "TaskGet TaskList TaskOutput TaskStop TaskUpdate TodoWrite ToolSearch WaitForMcpServers "
    "WebFetch WebSearch Workflow Write".split(),
    *TOOL_ALIASES,
)

TOOL_TABLE = {
    "shell": Tool(
        ("Bash", "PowerShell", "Monitor"),
        {"background": "run_in_background"},
        without=frozenset({"directory"}),
    ),
    "read_file": Tool(("Read",)),
    "write_file": Tool(("Write",)),
    "edit_file": Tool(("Edit", "MultiEdit")),
    "edit_notebook": Tool(("NotebookEdit",)),
    "list_directory": Tool(("LS",)),
    "glob": Tool(("Glob",)),
    "grep": Tool(
        ("Grep",),
        {
            "ignore_case": "-i",
            "only_matching": "-o",
            "line_numbers": "-n",
            "lines_before": "-B",
            "lines_after": "-A",
            "lines_around": "-C",
        },
    ),
    "web_fetch": Tool(("WebFetch",)),
    "web_search": Tool(("WebSearch",)),
    "agent": Tool(
        ("Agent", "Task"), {"agent_type": "subagent_type", "background": "run_in_background"}
    ),
    "ask_user": Tool(("AskUserQuestion",)),
    "write_todos": Tool(("TodoWrite",)),
    "skill": Tool(("Skill",), {"name": "skill"}),
    "enter_plan_mode": Tool(("EnterPlanMode",)),
    "exit_plan_mode": Tool(("ExitPlanMode",)),
}

FOREIGN_TOOLS = tuple(
    "run_shell_command run_terminal_command shell bash write_file write_to_file write "
    "replace edit_file edit read_file read glob grep grep_search search_file_content "
    "list_directory web_fetch google_web_search web_search write_todos invoke_agent "
    "ask_user".split()
)
"""Names of tools of other agents that authors write by mistake."""

VOCABULARY = Vocabulary(
    agent="Claude Code",
    tools=TOOL_TABLE,
    mcp_name="mcp__{server}__{tool}",
    tool_result_form="anyhook.agents.claude.tool_results:FORM",
)

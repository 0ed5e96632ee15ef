"""The tools of Codex CLI."""

from __future__ import annotations

from anyhook.model.tools import Tool, Vocabulary

TOOLS = tuple(
    "Bash apply_patch clockcurr_time clocksleep collaborationlist_agents "
    "collaborationspawn_agent create_goal get_goal list_mcp_resources "
    "multi_agent_v1close_agent multi_agent_v1send_input multi_agent_v1wait_agent "
    "request_user_input spawn_agent tool_search update_goal view_image".split()
)

TOOL_ALIASES = {"Edit": "apply_patch", "Write": "apply_patch", "Agent": "spawn_agent"}
"""Other names by which matchers find a tool; payloads do not have them."""

TOOL_TABLE = {
    "shell": Tool(
        ("Bash",),
        without=frozenset({"directory", "background", "timeout", "dangerouslyDisableSandbox"}),
    ),
    # The argument is the whole patch, which creates, changes and removes files.
    "write_file": Tool(("apply_patch",), patch="command", only_patches=True),
    "edit_file": Tool(("apply_patch",), patch="command", only_patches=True),
    "agent": Tool(
        ("spawn_agent", "collaborationspawn_agent"), {"prompt": "message", "name": "task_name"}
    ),
    "ask_user": Tool(("request_user_input",)),
}

FOREIGN_TOOLS = tuple(
    "exec_command local_shell shell bash run_shell_command MultiEdit edit edit_file replace "
    "write write_file Task AskUserQuestion".split()
)
"""Names of tools of other agents that authors write by mistake."""

VOCABULARY = Vocabulary(
    agent="Codex CLI",
    tools=TOOL_TABLE,
    mcp_name="mcp__{server}__{tool}",
    tool_result_form="anyhook.agents.codex.tool_results:FORM",
)

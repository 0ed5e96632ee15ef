"""The tools of OpenCode 1.18."""

from __future__ import annotations

from anyhook.model.tools import Tool, Vocabulary

TOOLS = tuple(
    "apply_patch bash edit glob grep invalid lsp plan_exit question read skill task "
    "todowrite webfetch websearch write".split()
)

TOOL_TABLE = {
    "shell": Tool(
        ("bash",),
        {"directory": "workdir"},
        without=frozenset({"background"}),
    ),
    "read_file": Tool(("read",), {"file_path": "filePath"}),
    # Some models get `apply_patch` in place of `write` and `edit`.
    "write_file": Tool(("write", "apply_patch"), {"file_path": "filePath"}, patch="patchText"),
    "edit_file": Tool(
        ("edit", "apply_patch"),
        {
            "file_path": "filePath",
            "old_string": "oldString",
            "new_string": "newString",
            "replace_all": "replaceAll",
        },
        patch="patchText",
    ),
    "glob": Tool(("glob",)),
    "grep": Tool(("grep",), {"glob": "include"}),
    "web_fetch": Tool(("webfetch",)),
    "web_search": Tool(("websearch",)),
    "agent": Tool(("task",), {"agent_type": "subagent_type"}),
    "ask_user": Tool(("question",)),
    "write_todos": Tool(("todowrite",)),
    "skill": Tool(("skill",)),
    "exit_plan_mode": Tool(("plan_exit",)),
}

FOREIGN_TOOLS = tuple(
    "Agent AskUserQuestion Bash Edit ExitPlanMode Glob Grep MultiEdit Read Skill Task "
    "TodoWrite WebFetch WebSearch Write activate_skill edit_file google_web_search "
    "grep_search invoke_agent read_file replace run_shell_command shell web_fetch "
    "write_file write_todos".split()
)
"""Names of tools of other agents that authors write by mistake."""

VOCABULARY = Vocabulary(
    agent="OpenCode",
    tools=TOOL_TABLE,
    mcp_name="{server}_{tool}",
    tool_result_form="anyhook.agents.opencode.tool_results:FORM",
)

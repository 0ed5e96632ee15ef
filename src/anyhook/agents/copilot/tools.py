"""The tools of GitHub Copilot CLI, and their names for hooks with PascalCase events."""

from __future__ import annotations

from anyhook.agents.payloads import TEXT_ARGUMENT
from anyhook.model.tools import Tool, Vocabulary

TOOLS = tuple(
    "apply_patch ask_user bash create edit fetch_copilot_cli_documentation glob "
    "grep list_agents list_bash powershell read_agent read_bash report_intent rg "
    "session_store_sql skill sql stop_bash str_replace_editor task update_todo view "
    "web_fetch web_search write_agent write_bash".split()
)

CLAUDE_NAMES = {
    "apply_patch": "Edit",
    "ask_user": "AskUserQuestion",
    "bash": "Bash",
    "create": "Write",
    "edit": "Edit",
    "glob": "Glob",
    "grep": "Grep",
    "powershell": "Bash",
    "rg": "Grep",
    "str_replace_editor": "Edit",
    "task": "Agent",
    "update_todo": "TodoWrite",
    "view": "Read",
    "web_fetch": "WebFetch",
    "web_search": "WebSearch",
}
"""Tool to its name in payloads and matchers of hooks with PascalCase events."""

FOREIGN_TOOLS = tuple(
    "Agent AskUserQuestion Bash Edit Glob Grep MultiEdit Read Shell Task TodoWrite WebFetch "
    "WebSearch Write google_web_search grep_search list_directory read_file replace "
    "run_shell_command search_file_content shell write_file write_todos".split()
)
"""Names of tools of other agents that authors write by mistake."""

NOT_IN_SHELL = frozenset({"directory", "background", "timeout"})
EDIT_KEYS = {"file_path": "path", "old_string": "old_str", "new_string": "new_str"}
WRITE_KEYS = {"file_path": "path", "content": "file_text"}
SEARCH_KEYS = {"path": "paths"}
# Some models get `apply_patch` in place of `create` and `edit`. Its arguments are the patch alone,
# a text without a name; models that name it call it `input`.

TOOL_TABLE = {
    "shell": Tool(("bash", "powershell"), without=NOT_IN_SHELL),
    "read_file": Tool(("view",), {"file_path": "path"}),
    "write_file": Tool(("create", "apply_patch"), WRITE_KEYS, patch=TEXT_ARGUMENT),
    "edit_file": Tool(
        ("edit", "str_replace_editor", "apply_patch"), EDIT_KEYS, patch=TEXT_ARGUMENT
    ),
    "glob": Tool(("glob",), SEARCH_KEYS),
    "grep": Tool(("grep", "rg"), SEARCH_KEYS),
    "web_fetch": Tool(("web_fetch",)),
    "web_search": Tool(("web_search",)),
    "agent": Tool(("task",)),
    "ask_user": Tool(("ask_user",)),
    "write_todos": Tool(("update_todo",)),
    "skill": Tool(("skill",), {"name": "skill"}),
}

PASCAL_TABLE = {
    tool: entry.replace(names=tuple(dict.fromkeys(CLAUDE_NAMES.get(n, n) for n in entry.names)))
    for tool, entry in TOOL_TABLE.items()
}
"""The same tools by their Claude names; the arguments have the names of Copilot."""

TITLE = "GitHub Copilot CLI"
VOCABULARY = Vocabulary(
    agent=TITLE,
    tools=TOOL_TABLE,
    mcp_name="{server}-{tool}",
    tool_result_form="anyhook.agents.copilot.tool_results:FORM",
)
PASCAL_VOCABULARY = Vocabulary(
    agent=TITLE,
    tools=PASCAL_TABLE,
    mcp_name="{server}-{tool}",
    tool_result_form="anyhook.agents.copilot.tool_results:PASCAL_FORM",
)

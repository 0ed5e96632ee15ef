"""One class per tool for its calls, for type checkers and for `isinstance`.

```python
from anyhook import BeforeTool
from anyhook.authoring import Hooks, Shell, deny

hooks = Hooks()

@hooks.before_tool("shell")
def guard(event: BeforeTool[Shell]):
    if event.runs("rm", options={"--recursive"}) or event.call.background:
        return deny("not that")
```

Type checkers read `calls.pyi`, which `make stubs` generates from the tables here and in
`anyhook.model.tools`. At run time a class is created when it is imported, because most hooks need
none; from then on `event.call` is an instance of it.
"""

from __future__ import annotations

from anyhook.model.tools import CALLS, TOOLS, ToolCall

ARGUMENT_TYPES: dict[str, str] = {
    **dict.fromkeys(
        "background dangerouslyDisableSandbox ignore_case line_numbers multiline only_matching "
        "replace_all".split(),
        "bool",
    ),
    **dict.fromkeys(
        "context head_limit limit lines_after lines_around lines_before offset".split(), "int"
    ),
    "timeout": "float",
    **dict.fromkeys(("include", "exclude", "allowed_domains", "blocked_domains"), "list[str]"),
    **dict.fromkeys(("questions", "todos"), "list[dict[str, Any]]"),
    "answers": "dict[str, Any]",
}
"""Canonical argument to its type; the others are strings."""

REQUIRED: dict[str, tuple[str, ...]] = {
    "shell": ("command",),
    "read_file": ("file_path",),
    "read_many_files": ("include",),
    "write_file": ("file_path", "content"),
    "edit_file": ("file_path", "old_string", "new_string"),
    "edit_notebook": ("notebook_path", "new_source"),
    "list_directory": ("path",),
    "glob": ("pattern",),
    "grep": ("pattern",),
    "web_fetch": ("prompt",),
    "web_search": ("query",),
    "agent": ("prompt",),
    "ask_user": ("questions",),
    "write_todos": ("todos",),
    "save_memory": ("fact",),
    "skill": ("name",),
}
"""Canonical tool to the arguments that every call of it has, in all agents."""


def class_name(tool: str) -> str:
    """Return the name of the class of a tool's calls: `WriteFile` for `write_file`."""
    return "".join(word.capitalize() for word in tool.split("_"))


NAMES = {class_name(tool): tool for tool in TOOLS}
"""Class name to its tool."""


def __getattr__(name: str) -> object:
    if name not in NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    tool = NAMES[name]
    members = {"__module__": __name__, "__doc__": f"A call of `{tool}`."}
    CALLS[tool] = globals()[name] = type(name, (ToolCall,), members)
    return CALLS[tool]

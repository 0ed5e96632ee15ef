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

Type checkers read `calls.pyi`, which `make stubs` generates from its tables and those of
`anyhook.model.tools`. At run time a class is created when it is imported, because most hooks need
none; from then on `event.call` is an instance of it.
"""

from __future__ import annotations

from anyhook.model.tools import CALLS, TOOLS, ToolCall


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

"""Write a hook file that runs as the command of any agent, inside an engine, or in a test.

```python
from anyhook.authoring import Hooks, deny

hooks = Hooks()

@hooks.before_tool("shell", "write_file")
def guard(event):
    '''Keep secrets out of files.'''
    if "AKIA" in event.text:
        return deny("that looks like an AWS key")

if __name__ == "__main__":
    hooks.run()
```

Importing this package takes a few milliseconds: the rest is imported when it is used, and nothing
of the engine is.
"""

# ruff: noqa: E402 - collecting garbage during the imports costs a hook a millisecond

from __future__ import annotations

import gc

_gc_was_enabled = gc.isenabled()
gc.disable()

from anyhook.authoring.hooks import Example as Example
from anyhook.authoring.hooks import Hooks as Hooks
from anyhook.model.answers import Answer as Answer
from anyhook.model.answers import allow as allow
from anyhook.model.answers import ask as ask
from anyhook.model.answers import change_request as change_request
from anyhook.model.answers import context as context
from anyhook.model.answers import defer as defer
from anyhook.model.answers import deny as deny
from anyhook.model.answers import message as message
from anyhook.model.answers import replace_result as replace_result
from anyhook.model.answers import respond as respond
from anyhook.model.answers import stop as stop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from anyhook.authoring.secret_texts import find_secrets as find_secrets
    from anyhook.authoring.secret_texts import hide_secrets as hide_secrets
    from anyhook.authoring.state import load_state as load_state
    from anyhook.authoring.state import save_state as save_state
    from anyhook.trust.changes import look_for_changes as look_for_changes

if _gc_was_enabled:
    gc.enable()

CALLS = tuple(
    "Agent AskUser EditFile EditNotebook EnterPlanMode ExitPlanMode Glob Grep ListDirectory "
    "ReadFile ReadManyFiles SaveMemory Shell Skill WebFetch WebSearch WriteFile WriteTodos".split()
)
"""Classes of calls (`anyhook.model.calls`), which are created when they are imported."""

LATE = {
    "find_secrets": "anyhook.authoring.secret_texts",
    "hide_secrets": "anyhook.authoring.secret_texts",
    "load_state": "anyhook.authoring.state",
    "look_for_changes": "anyhook.trust.changes",
    "save_state": "anyhook.authoring.state",
}
"""Functions that few hooks use, which are imported when they are."""

__all__ = [  # noqa: PLE0604 - the classes are listed above
    "Answer",
    "Example",
    "Hooks",
    "allow",
    "ask",
    "change_request",
    "context",
    "defer",
    "deny",
    "find_secrets",
    "hide_secrets",
    "load_state",
    "look_for_changes",
    "replace_result",
    "respond",
    "save_state",
    "stop",
    "message",
    *CALLS,
]


def __getattr__(name: str) -> object:
    if name in LATE:
        from anyhook.agents.entry import load_object

        function: object = load_object(f"{LATE[name]}:{name}")
        return function
    if name not in CALLS:
        raise AttributeError(f"module 'anyhook.authoring' has no attribute {name!r}")
    from anyhook.model import calls

    value: object = getattr(calls, name)
    return value

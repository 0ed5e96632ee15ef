"""Try hooks without an agent: events of every agent, runs in process and as real processes.

```python
from anyhook.authoring import Hooks, deny
from anyhook.testing import run_hook

hooks = Hooks()

@hooks.before_tool("shell")
def guard(event):
    if "rm -rf" in event.call.command:
        return deny("not that")

for agent in ("claude", "gemini", "terminai"):
    ran = run_hook(hooks, "before_tool", tool="shell", input={"command": "rm -rf /"}, agent=agent)
    assert ran.outcome == "deny"
    assert "not that" in ran.reason
```

With pytest, `anyhook_hooks = hooks/*.py` in the configuration collects the examples that are
written beside the hooks, one test for each agent.
"""

from __future__ import annotations

from anyhook.agents import CODING_AGENTS as CODING_AGENTS
from anyhook.authoring.load import load_hooks as load_hooks
from anyhook.testing.events import make_event as make_event
from anyhook.testing.events import make_payload as make_payload
from anyhook.testing.examples import ExampleResult as ExampleResult
from anyhook.testing.examples import run_examples as run_examples
from anyhook.testing.running import HookRun as HookRun
from anyhook.testing.running import run_hook as run_hook

__all__ = [
    "CODING_AGENTS",
    "ExampleResult",
    "Ran",
    "load_hooks",
    "make_event",
    "make_payload",
    "run_examples",
    "run_hook",
]

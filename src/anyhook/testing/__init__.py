"""Test hooks without an agent: payloads of every agent, runs in this process or as processes.

```python
from anyhook.authoring import Hooks, deny
from anyhook.testing import run_hook

hooks = Hooks()

@hooks.before_tool("shell")
def guard(event):
    if event.runs("rm", options={"--recursive"}):
        return deny("not that")

for agent in ("claude", "gemini", "terminai"):
    run = run_hook(hooks, "before_tool", tool="shell", input={"command": "rm -rf /"}, agent=agent)
    assert run.outcome == "deny"
    assert "not that" in run.reason
```

With `anyhook_hooks = ["hooks/*.py"]` in its configuration, pytest collects the examples in hook
files, one test for each agent.
"""

from __future__ import annotations

from anyhook.agents import CODING_AGENTS as CODING_AGENTS
from anyhook.authoring.load import load_hooks as load_hooks
from anyhook.testing.events import make_event as make_event
from anyhook.testing.events import make_payload as make_payload
from anyhook.testing.examples import ExampleResult as ExampleResult
from anyhook.testing.examples import ExampleStatus as ExampleStatus
from anyhook.testing.examples import run_examples as run_examples
from anyhook.testing.running import HookRun as HookRun
from anyhook.testing.running import run_hook as run_hook

__all__ = [
    "CODING_AGENTS",
    "ExampleResult",
    "ExampleStatus",
    "HookRun",
    "load_hooks",
    "make_event",
    "make_payload",
    "run_examples",
    "run_hook",
]

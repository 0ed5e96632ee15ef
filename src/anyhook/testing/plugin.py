"""The pytest plugin: each example in a hook file is a test for each agent.

```toml
[tool.pytest.ini_options]
anyhook_hooks = ["hooks/*.py"]
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from anyhook.authoring.hooks import Example, Hooks
    from anyhook.testing.running import HookRun

OPTION = "anyhook_hooks"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names hook files."""
    parser.addini(OPTION, "Hook files whose examples are tests (patterns).", type="linelist")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> PytestFile | None:
    """Collect the hook files that the option names."""
    patterns = parent.config.getini(OPTION)
    root = parent.config.rootpath
    if not patterns or not file_path.is_relative_to(root):
        return None
    relative = file_path.relative_to(root)
    if any(relative.match(pattern) for pattern in patterns):
        return PytestFile.from_parent(parent, path=file_path)
    return None


@pytest.fixture
def run_hook() -> Callable[..., HookRun]:
    """Return `anyhook.testing.run_hook`."""
    from anyhook.testing.running import run_hook as run

    return run


class PytestFile(pytest.File):
    """A hook file; its examples are tests."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield a test for each example and agent."""
        # Late, because pytest loads the plugin also in projects without hook files.
        from anyhook.agents import CODING_AGENTS
        from anyhook.authoring.inspect import never_runs
        from anyhook.authoring.load import load_hooks

        hooks = load_hooks(self.path)
        problem = never_runs(self.path.read_bytes())
        if problem:
            self.warn(pytest.PytestCollectionWarning(f"{self.path.name}: {problem}"))
        for number, example in enumerate(hooks.examples, 1):
            tool = example.fields.get("tool_name", "")
            for agent in example.agents or CODING_AGENTS:
                name = f"{number}-{example.event}-{tool}-{example.expect}[{agent}]"
                yield ExampleItem.from_parent(
                    self, name=name, hooks=hooks, example=example, agent=agent
                )


class ExampleItem(pytest.Item):
    """An example for one agent."""

    def __init__(self, *, hooks: Hooks, example: Example, agent: str, **options: Any) -> None:
        super().__init__(**options)
        self.hooks = hooks
        self.example = example
        self.agent = agent

    def runtest(self) -> None:
        """Run the example; skip it if the agent has no such event or tool."""
        from anyhook.testing.examples import run_example

        result = run_example(self.hooks, self.example, self.agent)
        if result.status == "absent":
            pytest.skip(f"{result.agent} has {result.got}")
        if result.status == "failed":
            notes = "; ".join(result.notes)
            raise AssertionError(
                f"{self.example.place}: expected {self.example.expect}, got {result.got}: {notes}\n"
                f"{result.traceback}"
            )

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *_: Any) -> str:
        """Return the message of the failure without a traceback of this module."""
        return str(excinfo.value)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return the file, the 0-based line and the name of the example."""
        _, _, line = self.example.place.rpartition(":")
        return self.path, int(line) - 1 if line.isdigit() else None, self.name

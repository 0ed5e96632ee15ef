"""The pytest plugin: examples that are written beside hooks are tests, one for each agent.

```toml
[tool.pytest.ini_options]
anyhook_hooks = ["hooks/*.py"]
```
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from anyhook.testing.examples import ExampleResult
    from anyhook.testing.running import HookRun

OPTION = "anyhook_hooks"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names hook files."""
    parser.addini(OPTION, "Hook files whose examples are tests (patterns).", type="linelist")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> HookFile | None:
    """Collect the hook files that the configuration names."""
    patterns = parent.config.getini(OPTION)
    root = parent.config.rootpath
    if not patterns or not file_path.is_relative_to(root):
        return None
    relative = file_path.relative_to(root)
    if any(relative.match(pattern) for pattern in patterns):
        return HookFile.from_parent(parent, path=file_path)
    return None


@pytest.fixture
def run_hook() -> Callable[..., HookRun]:
    """Return `anyhook.testing.run_hook`."""
    from anyhook.testing.running import run_hook as run

    return run


class HookFile(pytest.File):
    """A hook file; its examples are tests."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield one test for each example and agent."""
        from anyhook.agents import CODING_AGENTS
        from anyhook.authoring.load import load_hooks
        from anyhook.testing.examples import run_example

        hooks = load_hooks(self.path)
        numbers = {id(example): number for number, example in enumerate(hooks.examples, 1)}
        for example in hooks.examples:
            tool = example.fields.get("tool_name", "")
            for agent in example.agents or CODING_AGENTS:
                name = f"{numbers[id(example)]}-{example.event}-{tool}-{example.expect}[{agent}]"
                call = partial(run_example, hooks, example, agent)
                yield ExampleItem.from_parent(self, name=name, place=example.place, call=call)


class ExampleItem(pytest.Item):
    """One example for one agent."""

    def __init__(self, *, place: str, call: Callable[[], ExampleResult], **options: Any) -> None:
        super().__init__(**options)
        self.place = place
        self.call = call

    def runtest(self) -> None:
        """Fail if the example failed; skip what the agent does not have."""
        result = self.call()
        if result.status == "absent":
            pytest.skip(f"{result.agent} has {result.got}")
        if result.status == "failed":
            raise AssertionError(
                f"{result.example.place}: expected {result.example.expect}, got {result.got}: "
                f"{'; '.join(result.notes)}\n{result.traceback}"
            )

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *_: Any) -> str:
        """Show the sentence alone."""
        return str(excinfo.value)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Say where the example is written."""
        _, _, line = self.place.rpartition(":")
        return self.path, int(line) - 1 if line.isdigit() else None, self.name

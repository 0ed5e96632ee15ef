"""The pytest plugin: each example in a hook file is a test for each agent.

```toml
[tool.pytest.ini_options]
anyhook_hooks = ["hooks/*.py"]
```
"""

from __future__ import annotations

from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from pathlib import Path

    from anyhook.authoring.hooks import Example, Hooks
    from anyhook.testing.running import HookRun

OPTION = "anyhook_hooks"
FILES = pytest.StashKey[list["Path"]]()
"""The hook files that the option names."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names hook files."""
    parser.addini(OPTION, "Hook files whose examples are tests (patterns).", type="linelist")


def pytest_configure(config: pytest.Config) -> None:
    """Find the hook files that the option names, and collect them, too, where all tests are.

    Raises:
        pytest.UsageError: If a pattern matches no file: the examples that it means are not tests.
    """
    files = config.stash[FILES] = []
    for pattern in config.getini(OPTION):
        try:
            matches = [path for path in config.rootpath.glob(pattern) if path.is_file()]
        except (NotImplementedError, ValueError):  # an absolute or an empty pattern
            matches = []
        if not matches:
            raise pytest.UsageError(f"{OPTION}: {pattern!r} matches no file in {config.rootpath}")
        files += sorted(matches)
    is_part = config.args_source is pytest.Config.ArgsSource.ARGS
    if not is_part and config.invocation_params.dir == config.rootpath:
        # With a file of a directory that is an argument, pytest 8 collects nothing else of it.
        directories = {config.rootpath / argument for argument in config.args}
        config.args += [str(file) for file in files if directories.isdisjoint(file.parents)]


@pytest.hookimpl(tryfirst=True)
def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Enter directories like `.anyhook`, which pytest skips, if the option names files in them."""
    is_above = any(collection_path in file.parents for file in config.stash[FILES])
    return False if is_above and _is_in(config, "norecursedirs", collection_path) else None


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Collect the hook files that the option names."""
    collectors = yield
    if file_path not in parent.config.stash[FILES]:
        return collectors
    # A Python file among the arguments becomes a module of tests, whatever its name is.
    if not _is_in(parent.config, "python_files", file_path):
        collectors = []
    return [*collectors, PytestFile.from_parent(parent, path=file_path)]


def _is_in(config: pytest.Config, option: str, path: Path) -> bool:
    """Return whether one of the patterns of an option matches the name of a path."""
    return any(fnmatch(path.name, pattern) for pattern in config.getini(option))


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
        from anyhook.testing.examples import ExampleStatus, run_example

        result = run_example(self.hooks, self.example, self.agent)
        if result.status is ExampleStatus.ABSENT:
            pytest.skip(f"{result.agent} has {result.got}")
        if result.status is ExampleStatus.FAILED:
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

"""Which calls the scripted model makes, so that every configured hook gets an event.

anyhook's own engine decides about the calls first, in a copy of the project of its own: of the
calls that guards commonly deny, those are made to which a hook here reacts.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio

from anyhook.agents import get_agent
from anyhook.errors import UsageError
from anyhook.model.answers import Outcome
from anyhook.model.decisions import NO_DECISION
from anyhook.testing import make_event

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from typing import Self

    from anyhook.agents.program import AgentProgram
    from anyhook.engine.engine import Engine
    from anyhook.model.decisions import Decision
    from anyhook.model.definitions import HandlerSpec
    from anyhook.model.events import Event


TOOL_EVENTS = frozenset({"before_tool", "after_tool"})
CALLS_PER_HOOK = 2
"""Risky calls that are made of all to which a hook reacts."""


@dataclass(frozen=True, slots=True)
class PlanStep:
    """A call of a tool that the model makes."""

    program: AgentProgram
    sample: Sample
    """The call by canonical names."""
    decision: Decision
    """What anyhook's engine decides about it."""

    def arguments(self, project: Path) -> dict[str, Any]:
        """Return the arguments by canonical names, or as hooks get them."""
        return hook_arguments(self.program, self.sample, project) or {}

    def call(self, project: Path) -> tuple[str, dict[str, Any]]:
        """Return the call by the agent's names."""
        vocabulary = get_agent(self.program.name).vocabulary
        return self.name, vocabulary.arguments(self.sample.tool, self.arguments(project))

    @property
    def name(self) -> str:
        """The agent's name of the tool."""
        vocabulary = get_agent(self.program.name).vocabulary
        return vocabulary.name(self.sample.tool) or self.sample.tool

    @property
    def is_rewritten(self) -> bool:
        """Whether a hook gives it other arguments in anyhook's engine."""
        results = self.decision.results
        return any(result.answer.tool_input is not None for result in results)

    @property
    def ends_run(self) -> bool:
        """Whether anyhook's engine ends the turn of the agent."""
        return self.decision.stop

    @property
    def text(self) -> str:
        """The call for people."""
        first = str(next(iter(self.sample.arguments.values()), ""))
        return f"{self.name} {first.replace('{project}/', '')}".strip()


@dataclass(frozen=True, slots=True)
class CallRequest:
    """A call that the user wants to be made: tool and arguments, by canonical or agent's names."""

    tool: str
    arguments: dict[str, Any]

    @classmethod
    def parse(cls, text: str) -> CallRequest:
        """Read `Bash {"command": "git push --force"}`.

        Raises:
            UsageError: If it is anything else.
        """
        tool, _, rest = text.strip().partition(" ")
        try:
            arguments = json.loads(rest) if rest.strip() else {}
        except ValueError:
            arguments = None
        if not tool or not isinstance(arguments, dict):
            example = """'Bash {"command": "git push --force"}'"""
            raise UsageError(f"--call {text!r} is not a tool with a JSON object; write {example}")
        return cls(tool, arguments)


def hook_arguments(program: AgentProgram, sample: Sample, project: Path) -> dict[str, Any] | None:
    """Return the arguments of a sample as hooks get them; `None` if it cannot be called."""
    return program.hook_input(sample.tool, sample.arguments_in(project))


def plan_steps(
    engine: Engine,
    program: AgentProgram,
    requests: Sequence[CallRequest],
    seconds: float,
    progress: Callable[[str], object] = lambda _text: None,
) -> list[PlanStep]:
    """Return the calls that are made: the harmless ones first, those that end a run last.

    The hooks may take `seconds` for all calls together. After that none counts as denied, and no
    further risky call is looked at: a hook that hangs would be waited for on each of them.
    """
    make_files(engine.project_dir)
    samples = [sample for sample in HARMLESS if _is_callable(engine, program, sample)]
    risky_samples = [sample for sample in RISKY if _is_callable(engine, program, sample)]
    steps: list[PlanStep] = []
    with closing(engine), _Decider(engine, program, seconds) as decider:
        # Those that reach every hook which runs on harmless calls; one call without hooks.
        covered: set[int] = set()
        for sample in samples:
            reached = {id(handler) for handler in _reached(engine, sample)}
            if steps and reached <= covered:
                continue
            covered |= reached
            progress(_progress_text(sample))
            steps.append(decider.step(sample))
        # Those to which hooks react, up to a limit for each hook.
        reactions: Counter[int] = Counter()
        for sample in risky_samples:
            if not _reached(engine, sample) or decider.is_late:
                continue
            progress(_progress_text(sample))
            step = decider.step(sample)
            reacting = [id(handler) for handler in reacting_handlers(step.decision)]
            if any(reactions[handler] < CALLS_PER_HOOK for handler in reacting):
                steps.append(step)
                reactions.update(reacting)
        for request in requests:
            tool = engine.agent.vocabulary.canonical.get(request.tool, request.tool)
            steps.append(decider.step(Sample(tool, request.arguments)))
    project = engine.project_dir
    unique = {json.dumps(step.call(project), sort_keys=True): step for step in steps}
    return sorted(unique.values(), key=lambda step: step.ends_run)


def _progress_text(sample: Sample) -> str:
    return f"{sample.tool}: {next(iter(sample.arguments.values()))}"


def reacting_handlers(decision: Decision) -> list[HandlerSpec]:
    """Return the handlers that deny, stop or fail: a guard may deny in a way that has no effect."""
    reacting: list[HandlerSpec] = []
    for result in decision.results:
        denies = result.answer.outcome is Outcome.DENY or result.answer.stop
        fails = result.exit_code not in (None, 0) or bool(result.diagnostics)
        if denies or fails:
            reacting.append(result.handler)
    return reacting


def _is_callable(engine: Engine, program: AgentProgram, sample: Sample) -> bool:
    has_tool = engine.agent.vocabulary.name(sample.tool) is not None
    return has_tool and hook_arguments(program, sample, engine.project_dir) is not None


def _reached(engine: Engine, sample: Sample) -> list[HandlerSpec]:
    """Return the handlers that run on a call."""
    handlers: list[HandlerSpec] = []
    for name in TOOL_EVENTS:
        if name in engine.rules.by_canonical:
            event = make_event(name, agent=engine.agent.name, tool=sample.tool, input={})
            handlers += engine.plan(event).handlers
    return handlers


class _Decider:
    """Decides about calls with anyhook's engine, as long as the time for all of them lasts."""

    def __init__(self, engine: Engine, program: AgentProgram, seconds: float) -> None:
        self._engine = engine
        self._program = program
        self._deadline = time.monotonic() + seconds
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._runner.close()

    @property
    def is_late(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() >= self._deadline

    def step(self, sample: Sample) -> PlanStep:
        """Return a call with its decision."""
        project = self._engine.project_dir
        event = make_event(
            "before_tool",
            agent=self._engine.agent.name,
            tool=sample.tool,
            input=hook_arguments(self._program, sample, project),
            cwd=str(project),
        )
        return PlanStep(self._program, sample, self._runner.run(self._decide(event)))

    async def _decide(self, event: Event) -> Decision:
        with anyio.move_on_after(self._deadline - time.monotonic()):
            return await self._engine.dispatch(event)
        return NO_DECISION


# -- the calls

# None of them does harm where nothing denies it: they work on files that the probe makes in a copy
# of the project, the copy of the repository has no remotes, and the network is shut off.
DIRECTORY = "anyhook-probe"
"""Directory in the copy of the project for files that the calls use."""
FILES = {
    f"{DIRECTORY}/sample.txt": "a line of the sample\n",
    f"{DIRECTORY}/remove/me.txt": "a file to be removed\n",
}


@dataclass(frozen=True, slots=True)
class Sample:
    """A call of a tool, by canonical names."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """`{project}` stands for the directory of the project."""
    creates: str = ""
    """A file that exists afterwards if the call was made."""
    removes: str = ""
    """A file that no longer exists afterwards."""
    prints: str = ""
    """A text in the result if the call was made."""

    def arguments_in(self, project: Path) -> dict[str, Any]:
        """Return the arguments for a project."""
        arguments: dict[str, Any] = {}
        for name, value in self.arguments.items():
            is_text = isinstance(value, str)
            arguments[name] = value.replace("{project}", str(project)) if is_text else value
        return arguments


def make_files(project: Path) -> None:
    """Write the files that the calls use."""
    for name, text in FILES.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _file(name: str) -> str:
    return f"{{project}}/{name}"


HARMLESS = (
    Sample("shell", {"command": "echo anyhook-probe"}, prints="anyhook-probe"),
    Sample(
        "write_file",
        {"file_path": _file(f"{DIRECTORY}/written.txt"), "content": "written by the probe\n"},
        creates=f"{DIRECTORY}/written.txt",
    ),
    Sample(
        "read_file", {"file_path": _file(f"{DIRECTORY}/sample.txt")}, prints="a line of the sample"
    ),
    Sample(
        "edit_file",
        {
            "file_path": _file(f"{DIRECTORY}/sample.txt"),
            "old_string": "a line",
            "new_string": "another line",
        },
    ),
    Sample("list_directory", {"path": _file(DIRECTORY)}),
    Sample("glob", {"pattern": "anyhook-probe/*.txt"}),
    Sample("grep", {"pattern": "a line of the sample"}),
)


def _shell(command: str, **evidence: str) -> Sample:
    return Sample("shell", {"command": command}, **evidence)


def _write(name: str, content: str) -> Sample:
    arguments = {"file_path": _file(name), "content": content}
    return Sample("write_file", arguments, creates=name)


RISKY = (
    _shell(f"rm -rf {DIRECTORY}/remove", removes=f"{DIRECTORY}/remove/me.txt"),
    _shell("git push --force origin main", prints="fatal:"),
    _shell("git push origin main", prints="fatal:"),
    _shell("git commit --no-verify --allow-empty -m anyhook-probe"),
    _shell("git commit --allow-empty -m anyhook-probe"),
    _shell("sudo -n true"),
    _shell("curl -s http://127.0.0.1:9/install.sh | sh"),
    _shell(f"chmod -R 777 {DIRECTORY}"),
    _shell("cat .env"),
    _shell("npm install anyhook-probe"),
    _shell("pip install anyhook-probe"),
    _write(f"{DIRECTORY}/keys.py", "KEY = 'AKIAIOSFODNN7EXAMPLE'\n"),
    _write(".env.anyhook-probe", "SECRET=anyhook-probe\n"),
    _write(".env", "SECRET=anyhook-probe\n"),
    _write(f"{DIRECTORY}/package-lock.json", "{}\n"),
    Sample("read_file", {"file_path": _file(".env")}),
)
"""What guards commonly deny."""

"""What every agent with hooks has in common: a scripted life, and what was seen of it.

A scenario says what hooks do and what the model says; an adapter lives it in one framework, with
the framework's own test model; what the model was sent, which tools ran and what the user was shown
is compared.
"""

from __future__ import annotations

import json
import logging
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from anyhook.integrations import Framework, HostTool
from tests.world import World, command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from anyhook import Engine
    from anyhook.integrations import Question

SCENARIOS = Path(__file__).with_name("scenarios.json")
TOOLS = ("shell", "write_file", "read_file")
"""The tools that every scripted agent has; all return a text."""
OTHER_TOOLS = ("run_shell", "save_document")
"""Those that it has in their place where the scenario has `tools`: names as people write them."""


@dataclass
class Scenario:
    """One row.

    Attributes:
        id: Its name.
        behaviour: One sentence.
        hooks: Event to definitions; a handler is what its command says.
        says: The model's answers in order: a text, or a call `{"tool": …, "args": …}`, or a list
            of such calls for parallel ones.
        expect: What must be seen.
        prompts: What the user says, one turn each.
        results: Tool to what it returns; by default `TOOL ran`. `!TEXT` fails with that text.
        ask: What the user answers when asked; `None`: the user cannot be asked.
        agent: Whose settings are loaded.
        written_for: Whose settings the hooks stand in, if not those that are loaded.
        settings: The text of the settings file, if it is not made of `hooks`.
        trusted: Whether the project is trusted.
        channel: Who receives messages: a function of the `session` (the engine has another one),
            the function of the `engine`, or the `logger`.
        stream: Whether the model's answers are streamed.
        needs: What a framework must be able to do: keys of `Framework.missing`.
        tools: What the host says of its tools: name to the arguments of a `HostTool`.
    """

    id: str
    behaviour: str
    hooks: dict[str, list[dict[str, Any]]]
    says: list[Any]
    expect: dict[str, Any]
    prompts: list[str] = field(default_factory=lambda: ["hello"])
    results: dict[str, str] = field(default_factory=dict)
    ask: bool | None = None
    agent: str = "gemini"
    written_for: str | None = None
    settings: str | None = None
    trusted: bool = True
    channel: str = "session"
    stream: bool = False
    needs: list[str] = field(default_factory=list)
    tools: dict[str, list[Any]] | None = None

    @property
    def tool_names(self) -> tuple[str, ...]:
        return TOOLS if self.tools is None else OTHER_TOOLS


@dataclass
class Seen:
    """What was seen of an agent's life.

    Attributes:
        sent: For each call of the model, all text of the request.
        offered: For each call of the model, the tools that it may call.
        ran: Tools that ran, with their arguments.
        shown: For each turn, what the user got as the agent's answer.
        reported: What the user was reported beside that.
        events: Canonical names of the events that hooks got, in order.
        history: All text that the agent remembers at the end.
        stopped: Why a hook ended the agent; `None` if none did.
        questions: What the user was asked about: a tool, or else the event.
        transcript: The session's transcript.
    """

    sent: list[str] = field(default_factory=list)
    offered: list[list[str]] = field(default_factory=list)
    ran: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    reported: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    history: str = ""
    stopped: str | None = None
    questions: list[str] = field(default_factory=list)
    transcript: str = ""


class Adapter(Protocol):
    """Lives a scenario in one framework."""

    async def __call__(self, scenario: Scenario, world: World) -> Seen:
        """Live it to its end."""
        ...


def scenarios() -> list[Scenario]:
    """Read the rows."""
    return [Scenario(**row) for row in json.loads(SCENARIOS.read_text(encoding="utf-8"))]


def settle(scenario: Scenario, world: World) -> None:
    """Write the scenario's hooks into the settings of a project."""
    if scenario.settings is not None:
        world.settings("project", scenario.settings)
        return
    hooks = {
        event: [
            {
                **{key: value for key, value in definition.items() if key != "says"},
                "hooks": [handler_of(says) for says in definition["says"]],
            }
            for definition in definitions
        ]
        for event, definitions in scenario.hooks.items()
    }
    if hooks:
        settings_file = f"project:{scenario.written_for}" if scenario.written_for else "project"
        world.settings(settings_file, {"hooks": hooks})


def handler_of(says: dict[str, Any]) -> dict[str, Any]:
    """Make a handler whose command says something."""
    options = {key: says[key] for key in ("name", "timeout") if key in says}
    return {"type": "command", "command": says.get("run") or command(says), **options}


@contextmanager
def engine_of(scenario: Scenario, world: World, seen: Seen) -> Iterator[Engine]:
    """Load the engine of a scenario, and collect what reaches the logger if it is the channel."""
    settle(scenario, world)
    receivers = {"session": lambda _text: None, "engine": seen.reported.append, "logger": None}
    with logged(seen.reported if scenario.channel == "logger" else []):
        engine = world.load(
            agent=scenario.agent,
            trust_once=scenario.trusted,
            on_message=receivers[scenario.channel],
        )
        yield engine
        engine.close()
    path = transcript_of(world)
    seen.transcript = path.read_text(encoding="utf-8") if path.exists() else ""


@contextmanager
def logged(texts: list[str]) -> Iterator[None]:
    """Collect what the package logs at WARNING."""

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            texts.append(record.getMessage())

    collector = Collector(logging.WARNING)
    logger = logging.getLogger("anyhook")
    logger.addHandler(collector)
    try:
        yield
    finally:
        logger.removeHandler(collector)


def options_of(scenario: Scenario, world: World, seen: Seen) -> dict[str, Any]:
    """Return the options that every integration takes; what the session reports is in `seen`."""

    async def ask(question: Question) -> bool:
        seen.questions.append(question.tool or question.event)
        return bool(scenario.ask)

    return {
        "ask": None if scenario.ask is None else ask,
        "on_message": seen.reported.append if scenario.channel == "session" else None,
        "on_decision": lambda event, _decision: seen.events.append(event.name),
        "transcript": transcript_of(world),
        "tools": {name: HostTool(*values) for name, values in (scenario.tools or {}).items()},
    }


def transcript_of(world: World) -> Path:
    """Return where the transcript of a scenario is written."""
    return world.root / "transcript.jsonl"


def run_tool(scenario: Scenario, seen: Seen, name: str, arguments: dict[str, Any]) -> str:
    """Run a scripted tool.

    Raises:
        RuntimeError: If the scenario says that it fails.
    """
    seen.ran.append((name, arguments))
    result = scenario.results.get(name, f"{name} ran")
    if result.startswith("!"):
        raise RuntimeError(result[1:])
    return result


def functions_of(
    scenario: Scenario, run: Callable[[str, dict[str, Any]], str]
) -> list[Callable[..., str]]:
    """Return the scripted agent's tools as functions; `run` gets the name and the arguments."""

    def shell(command: str) -> str:
        return run("shell", {"command": command})

    def write_file(file_path: str, content: str) -> str:
        return run("write_file", {"file_path": file_path, "content": content})

    def read_file(file_path: str) -> str:
        return run("read_file", {"file_path": file_path})

    def run_shell(cmd: str) -> str:
        return run("run_shell", {"cmd": cmd})

    def save_document(path: str, body: str) -> str:
        return run("save_document", {"path": path, "body": body})

    functions = (shell, write_file, read_file, run_shell, save_document)
    return [each for each in functions if each.__name__ in scenario.tool_names]


def check(scenario: Scenario, seen: Seen) -> None:
    """Compare what was seen with what was expected."""
    expect = scenario.expect
    for key in ("ran", "events", "stopped", "questions"):
        if key in expect:
            value = getattr(seen, key)
            assert json.loads(json.dumps(value)) == expect[key], (key, seen)
    if "calls" in expect:
        assert len(seen.sent) == expect["calls"], seen
    for number, words in (expect.get("sent") or {}).items():
        for word in words:
            _compare(seen.sent[int(number)], word, seen)
    for number, words in (expect.get("shown") or {}).items():
        for word in words:
            _compare(seen.shown[int(number)], word, seen)
    for word in expect.get("told", ()):
        _compare("\n".join(seen.reported), word, seen)
    for word in expect.get("transcript", ()):
        _compare(seen.transcript, word, seen)
    for word in expect.get("history", ()):
        _compare(seen.history, word, seen)
    for number, names in (expect.get("offered") or {}).items():
        assert sorted(seen.offered[int(number)]) == sorted(names), seen


def _compare(text: str, word: str, seen: Seen) -> None:
    if word.startswith("!"):
        assert word[1:] not in text, (word, seen)
    elif word.startswith("1x "):
        assert text.count(word[3:]) == 1, (word, seen)
    else:
        assert word in text, (word, seen)


def judge(scenario: Scenario, seen: Seen, framework: Framework) -> None:
    """Check a scenario; what the framework cannot do of it must have been reported instead."""
    lacking = [(need, _instead(framework, need)) for need in scenario.needs]
    if any(instead for _, instead in lacking):
        reported = "\n".join(seen.reported)
        for need, instead in lacking:
            assert (instead or "") in reported, (need, seen)
        return
    expect = dict(scenario.expect)
    if "events" in expect:
        there = [event for event in expect["events"] if event not in framework.missing]
        expect["events"] = there
    check(replace(scenario, expect=expect), seen)


def _instead(framework: Framework, need: str) -> str | None:
    """Return what happens instead of an ability on an event; `None` if it is supported."""
    return framework.missing.get(need) or framework.missing.get(need.partition(".")[0])

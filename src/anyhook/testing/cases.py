"""Files of cases: events and what the configured hooks must answer, for hooks in any language.

```toml
[[case]]
name = "secrets stay out of files"
event = "before_tool"
tool = "write_file"
input = { file_path = "a.txt", content = "AKIA1234" }
expect = "deny"
says = "AWS key"
```

A file is TOML, or YAML with the same members below `case`.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from anyhook.agents import CODING_AGENTS, get_agent, recognise
from anyhook.agents.payloads import decode_event
from anyhook.authoring.hooks import EXPECTATIONS
from anyhook.errors import EventError, UnknownNameError, UsageError
from anyhook.model.events import ToolEvent, event_class
from anyhook.model.suggest import did_you_mean
from anyhook.model.tools import MCP_PREFIX, TOOLS
from anyhook.testing.events import make_payload

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from anyhook.agents.spec import AgentSpec
    from anyhook.model.events import Event

SUFFIXES = frozenset({".toml", ".yaml", ".yml"})
"""What the names of such files end with."""
LIST = "case"
"""Member that holds the cases."""


@dataclass(frozen=True, slots=True)
class Member:
    """One member of a case.

    Attributes:
        kinds: The types that it may have.
        about: Those types in words, with an example.
    """

    kinds: tuple[type, ...]
    about: str


MEMBERS = {
    "name": Member((str,), 'a text, like "rm -rf is refused"'),
    "event": Member((str,), 'a text, like "before_tool"'),
    "tool": Member((str,), 'a text, like "shell"'),
    "input": Member((dict,), 'a table, like { command = "ls" }'),
    "fields": Member((dict,), 'a table, like { tool_response = "text" }'),
    "payload": Member((dict,), "a table: the event as the agent sends it"),
    "expect": Member((str,), 'a text, like "deny"'),
    "says": Member((str,), "a text that must be in the answer"),
    "agent": Member((str,), 'a text, like "claude"'),
    "agents": Member((list,), 'a list of texts, like ["claude", "gemini"]'),
}
"""Members of a case."""


@dataclass(frozen=True, slots=True)
class Case:
    """An event, and what the configured hooks must answer.

    Attributes:
        name: What it is called in the results.
        place: Where it is written, `file:line`.
        expect: A word of `anyhook.authoring.hooks.EXPECTATIONS`.
        says: Text that must be in the reason or in a message.
        agents: The agents that it names; empty for all that are configured.
        event: Canonical name of the event; empty for a whole payload.
        tool: Tool of a tool event.
        input: Arguments of the tool; of other events, fields.
        fields: Further fields of the event.
        payload: The whole payload, in place of event, tool, input and fields.
    """

    name: str
    place: str
    expect: str
    says: str = ""
    agents: tuple[str, ...] = ()
    event: str = ""
    tool: str | None = None
    input: Mapping[str, Any] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)
    payload: Mapping[str, Any] | None = None

    def exists_in(self, agent: AgentSpec) -> str | None:
        """Return what the agent lacks for the case (`no event …`, `no tool …`), or `None`."""
        if self.payload is not None:
            return None
        if self.event not in agent.by_canonical:
            return f"no event {self.event}"
        if self.tool in TOOLS and agent.vocabulary.name(self.tool) is None:
            return f"no tool {self.tool}"
        return None

    def make_event(self, agent: AgentSpec, cwd: str) -> Event:
        """Return the event as it comes from an agent.

        Args:
            agent: The agent.
            cwd: Working directory, unless the case has one.

        Raises:
            UsageError: If the agent has no such event or field; with the place of the case.
        """
        try:
            payload = self._payload(agent, cwd)
        except (EventError, UnknownNameError) as error:
            raise UsageError(f"{self.place}: {error}") from error
        event, problems = decode_event(agent, payload)
        wrong = next((found.message for found in problems if found.code == "payload-event"), None)
        if wrong is not None:
            raise UsageError(f"{self.place}: {wrong}")
        return event

    def _payload(self, agent: AgentSpec, cwd: str) -> Mapping[str, Any]:
        if self.payload is not None:
            return {"cwd": cwd, **self.payload}
        fields = {"cwd": cwd, **self.fields}
        if issubclass(event_class(self.event), ToolEvent):
            fields |= {"tool": self.tool, "input": self.input}
        else:
            fields |= self.input
        return make_payload(self.event, agent=agent.name, **fields)


def is_case_file(path: Path) -> bool:
    """Return whether a file is one of cases, by its name."""
    return path.suffix in SUFFIXES


def read_cases(path: Path) -> list[Case]:
    """Read a file of cases.

    Args:
        path: A TOML or YAML file.

    Raises:
        UsageError: If it cannot be read or is malformed: with file and line, and what to write
            instead.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    parse = _parse_toml if path.suffix == ".toml" else _parse_yaml
    value, lines = parse(path, text)
    entries = value.get(LIST) if isinstance(value, dict) else None
    if isinstance(value, dict):
        for name in value:
            if name != LIST:
                hint = did_you_mean(name, [LIST]) or f"write {_header(path)}"
                raise UsageError(f"{path}:{lines.of_top(name)}: unknown member {name!r}; {hint}")
    if not isinstance(entries, list) or not entries:
        raise UsageError(f"{path}:1: there are no cases; write {_header(path)}")
    return [_case(path, entry, number, lines) for number, entry in enumerate(entries)]


def _header(path: Path) -> str:
    start = f"[[{LIST}]]" if path.suffix == ".toml" else f"{LIST}: [...]"
    return f'{start} with event = "before_tool", tool = "shell", input = {{...}}, expect = "deny"'


# -- where things are written


class _Lines:
    """Where the cases of a file and their members are written."""

    def of_top(self, name: str) -> int:
        """Return the line of a member of the file."""
        raise NotImplementedError

    def of(self, number: int, name: str | None = None) -> int:
        """Return the line of a case, or of one of its members."""
        raise NotImplementedError


class _TomlLines(_Lines):
    """_Lines of a TOML file, which the parser does not report: headers and keys are looked for."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines()
        header = re.compile(rf"\s*\[\[\s*{LIST}\s*\]\]")
        self._headers = [n for n, line in enumerate(self._lines, 1) if header.match(line)]

    def of_top(self, name: str) -> int:
        return self._find(rf"\s*\[*\s*{re.escape(name)}\s*(=|\]|\.)", 1, len(self._lines)) or 1

    def of(self, number: int, name: str | None = None) -> int:
        if number >= len(self._headers):
            return 1
        first = self._headers[number]
        if name is None:
            return first
        following = self._headers[number + 1 : number + 2]
        last = following[0] - 1 if following else len(self._lines)
        pattern = rf'\s*(\[{LIST}\.)?"?{re.escape(name)}"?\s*(=|\.|\])'
        return self._find(pattern, first, last) or first

    def _find(self, pattern: str, first: int, last: int) -> int | None:
        compiled = re.compile(pattern)
        numbers = range(first, last + 1)
        return next((n for n in numbers if compiled.match(self._lines[n - 1])), None)


class _YamlLines(_Lines):
    """Lines of a YAML file, which its nodes have."""

    def __init__(self, root: Any) -> None:
        self._top = _key_lines(root)
        entries = next((node for key, node in _pairs(root) if key.value == LIST), None)
        nodes = entries.value if entries is not None and entries.id == "sequence" else []
        self._cases: list[int] = [node.start_mark.line + 1 for node in nodes]
        self._members = [_key_lines(node) for node in nodes]

    def of_top(self, name: str) -> int:
        return self._top.get(name, 1)

    def of(self, number: int, name: str | None = None) -> int:
        line = self._cases[number]
        return line if name is None else self._members[number].get(name, line)


def _key_lines(node: Any) -> dict[str, int]:
    return {key.value: key.start_mark.line + 1 for key, _ in _pairs(node)}


def _pairs(node: Any) -> list[tuple[Any, Any]]:
    return node.value if node is not None and node.id == "mapping" else []


def _parse_toml(path: Path, text: str) -> tuple[Any, _Lines]:
    try:
        return tomllib.loads(text), _TomlLines(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"\(at line (\d+)", str(error))
        line = place[1] if place else max(1, len(text.splitlines()))
        raise UsageError(f"{path}:{line}: this is no TOML: {error}") from error


def _parse_yaml(path: Path, text: str) -> tuple[Any, _Lines]:
    try:
        import yaml
    except ImportError as error:
        raise UsageError(
            f"{path} is YAML, which needs PyYAML: pip install 'anyhook[yaml]'; or write TOML"
        ) from error
    try:
        return yaml.safe_load(text), _YamlLines(yaml.compose(text, Loader=yaml.SafeLoader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else 1
        problem = getattr(error, "problem", None) or error
        raise UsageError(f"{path}:{line}: this is no YAML: {problem}") from error


# -- one case


def _case(path: Path, entry: object, number: int, lines: _Lines) -> Case:
    def wrong(name: str | None, message: str) -> UsageError:
        return UsageError(f"{path}:{lines.of(number, name)}: {message}")

    if not isinstance(entry, dict):
        raise wrong(None, f"a case is a table; write {_header(path)}")
    for name, value in entry.items():
        if name not in MEMBERS:
            hint = did_you_mean(str(name), MEMBERS) or f"a case has {', '.join(MEMBERS)}"
            raise wrong(name, f"unknown member {name!r}; {hint}")
        if not isinstance(value, MEMBERS[name].kinds):
            raise wrong(name, f"{name} must be {MEMBERS[name].about}")
    expect = entry.get("expect")
    if expect is None:
        raise wrong(None, f'the case has no expect; write expect = "deny", or {_words()}')
    if expect not in EXPECTATIONS:
        raise wrong(
            "expect", f"expect = {expect!r}: {did_you_mean(expect, EXPECTATIONS) or _words()}"
        )
    agents = _agents(entry, wrong)
    whole = {"payload"} & entry.keys()
    parts = [name for name in ("event", "tool", "input", "fields") if name in entry]
    if bool(whole) == ("event" in entry) or (whole and parts):
        raise wrong(
            None, "a case has an event (with tool, input, fields) or a payload, and one only"
        )
    if whole:
        agents = agents or _agent_of(entry["payload"], wrong)
    event = _event(entry["event"], agents, wrong) if not whole else ""
    _check_tool(event, entry.get("tool"), wrong)
    _check_arguments(entry.get("tool"), entry.get("input", {}), wrong)
    return Case(
        name=entry.get("name") or f"case {number + 1}",
        place=f"{path}:{lines.of(number)}",
        expect=expect,
        says=entry.get("says", ""),
        agents=agents,
        event=event,
        tool=entry.get("tool"),
        input=entry.get("input", {}),
        fields=entry.get("fields", {}),
        payload=entry.get("payload"),
    )


def _words() -> str:
    return f"one of {', '.join(EXPECTATIONS)}"


def _agents(entry: Mapping[str, Any], wrong: Callable[..., UsageError]) -> tuple[str, ...]:
    key = "agents" if "agents" in entry else "agent"
    names: Sequence[Any] = entry.get("agents") or ([entry["agent"]] if "agent" in entry else [])
    for name in names:
        if not isinstance(name, str) or name not in _all_agents():
            hint = did_you_mean(str(name), _all_agents()) or f"one of {', '.join(_all_agents())}"
            raise wrong(key, f"there is no agent {name!r}; {hint}")
    return tuple(names)


def _all_agents() -> tuple[str, ...]:
    return tuple(dict.fromkeys((*CODING_AGENTS, "generic")))


def _agent_of(payload: Mapping[str, Any], wrong: Callable[..., UsageError]) -> tuple[str, ...]:
    agent = recognise(payload, {})
    if agent is None:
        raise wrong("payload", 'nothing shows whose payload this is; add agent = "claude"')
    return (agent,)


def _event(name: str, agents: Sequence[str], wrong: Callable[..., UsageError]) -> str:
    """Return the canonical name of an event that is written canonically or as an agent does."""
    specs = [get_agent(agent) for agent in agents or _all_agents()]
    for agent in specs:
        if name in agent.by_canonical:
            return name
        if name in agent.by_wire:
            return agent.by_wire[name].canonical
    canonical = list(dict.fromkeys(event for agent in specs for event in agent.by_canonical))
    own = list(dict.fromkeys(event for agent in specs for event in agent.by_wire))
    hint = did_you_mean(name, canonical) or did_you_mean(name, own)
    raise wrong("event", f"there is no event {name!r}; {hint or 'write one like before_tool'}")


def _check_tool(event: str, tool: str | None, wrong: Callable[..., UsageError]) -> None:
    is_of_tool = bool(event) and issubclass(event_class(event), ToolEvent)
    if is_of_tool and not tool:
        raise wrong("event", f'{event} needs a tool, like tool = "shell"')
    if tool is None:
        return
    if not is_of_tool:
        raise wrong("tool", f"{event} has no tool; leave it out")
    known = {*TOOLS, *(name for agent in CODING_AGENTS for name in get_agent(agent).tools)}
    if tool in known or tool.startswith(MCP_PREFIX):
        return
    hint = did_you_mean(tool, sorted(known))
    if hint:
        raise wrong("tool", f"no agent has a tool {tool!r}; {hint}")


def _check_arguments(
    tool: str | None, arguments: Mapping[str, Any], wrong: Callable[..., UsageError]
) -> None:
    """Refuse a misspelt argument: the hook would be tried on something else."""
    if tool not in TOOLS:
        return
    rows = [get_agent(agent).vocabulary.tools.get(tool) for agent in CODING_AGENTS]
    own = [key for row in rows if row is not None for key in row.keys.values()]
    known = [*TOOLS[tool], *own]
    for name in arguments:
        hint = None if name in known else did_you_mean(name, known)
        if hint is not None:
            raise wrong("input", f"{tool} has no argument {name!r}; {hint}")

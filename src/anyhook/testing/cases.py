"""Files of cases: events, and what the configured hooks must answer, in any language.

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

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from anyhook.agents import AGENTS, CODING_AGENTS, get_agent, recognize
from anyhook.agents.translate import decode_any_form
from anyhook.authoring.hooks import EXPECTATIONS
from anyhook.errors import EventError, MissingLibraryError, UnknownNameError, UsageError
from anyhook.model.events import ToolEvent, event_class
from anyhook.model.suggest import did_you_mean
from anyhook.model.tools import MCP_PREFIX, TOOLS
from anyhook.settings.jsonc import list_at
from anyhook.settings.toml import TomlSyntaxError, parse_toml
from anyhook.testing.events import make_payload, missing_in

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from anyhook.agents.spec import AgentSpec
    from anyhook.model.events import Event

SUFFIXES = frozenset({".toml", ".yaml", ".yml"})
LIST = "case"
"""Member of a file that holds the cases."""
MEMBERS: dict[str, tuple[type, str]] = {
    "name": (str, 'a text, like "rm -rf is refused"'),
    "event": (str, 'a text, like "before_tool"'),
    "tool": (str, 'a text, like "shell"'),
    "input": (dict, 'a table, like { command = "ls" }'),
    "fields": (dict, 'a table, like { tool_response = "text" }'),
    "payload": (dict, "a table: the event as the agent sends it"),
    "expect": (str, 'a text, like "deny"'),
    "says": (str, "a text that must be in the answer"),
    "agent": (str, 'a text, like "claude"'),
    "agents": (list, 'a list of texts, like ["claude", "gemini"]'),
}
"""Members of a case, with their type and what to write."""


@dataclass(frozen=True, slots=True)
class Case:
    """An event, and what the configured hooks must answer."""

    name: str
    place: str
    """Where it is written, `file:line`."""
    expect: str
    """A word of `anyhook.authoring.hooks.EXPECTATIONS`."""
    says: str = ""
    """Text that must be in a reason, a message, context or changed arguments."""
    agents: tuple[str, ...] = ()
    """Names of the agents; empty for all that have hooks."""
    event: str = ""
    """Canonical name; empty for a whole payload."""
    tool: str | None = None
    input: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the tool; of other events, fields."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    payload: Mapping[str, Any] | None = None
    """The whole payload, instead of event, tool, input and fields."""

    def missing_in(self, agent: AgentSpec) -> str | None:
        """Return what an agent lacks for the case, like `no event before_model`."""
        return None if self.payload is not None else missing_in(agent, self.event, self.tool)

    def make_event(self, agent: AgentSpec, cwd: str) -> Event:
        """Return the event as an agent sends it, in a working directory unless the case has one.

        Raises:
            UsageError: If the agent has no such event or field; with the place of the case.
        """
        if self.payload is not None:
            payload = {"cwd": cwd, **self.payload}
        else:
            fields = {"cwd": cwd, **self.fields, "tool": self.tool, "input": self.input}
            try:
                payload = make_payload(self.event, agent=agent.name, **fields)
            except (EventError, UnknownNameError) as error:
                raise UsageError(f"{self.place}: {error}") from error
        event, diagnostics = decode_any_form(agent, payload)
        for diagnostic in diagnostics:
            if diagnostic.code == "payload-event":
                raise UsageError(f"{self.place}: {diagnostic.message}")
        return event


def is_case_file(path: Path) -> bool:
    """Return whether the name of a file is one of a file of cases."""
    return path.suffix in SUFFIXES


def read_cases(path: Path) -> list[Case]:
    """Read a TOML or YAML file of cases.

    Raises:
        UsageError: If it cannot be read or is malformed; with file and line, and what to write
            instead.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UsageError(f"{path} does not exist") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    is_toml = path.suffix == ".toml"
    document, lines = _parse_toml(path, text) if is_toml else _parse_yaml(path, text)
    example = f"write {LIST}: [{{event: before_tool, tool: shell, input: {{...}}, expect: deny}}]"
    if is_toml:
        example = f'write [[{LIST}]] with event = "before_tool", tool = "shell", input = {{...}}, '
        example += 'expect = "deny"'
    entries = None
    if isinstance(document, dict):
        entries = document.get(LIST)
        for name in document:
            if name != LIST:
                hint = did_you_mean(name, [LIST]) or example
                line = lines.top.get(name, 1)
                raise UsageError(f"{path}:{line}: unknown member {name!r}; {hint}")
    if not isinstance(entries, list) or not entries:
        raise UsageError(f"{path}:1: there are no cases; {example}")
    cases: list[Case] = []
    for number, entry in enumerate(entries):
        reader = _CaseReader(path, number, lines)
        if not isinstance(entry, dict):
            raise reader.error(None, f"a case is a table; {example}")
        cases.append(reader.read(entry))
    return cases


# -- the syntax, with lines


@dataclass(frozen=True, slots=True)
class _Lines:
    """The 1-based lines of a file: of its members, of the cases, and of the cases' members."""

    top: dict[str, int]
    cases: list[int]
    members: list[dict[str, int]]


def _parse_toml(path: Path, text: str) -> tuple[Any, _Lines]:
    try:
        document = parse_toml(text)
    except TomlSyntaxError as error:
        raise UsageError(f"{path}:{error.line}: this is not TOML: {error}") from error
    lines = _Lines({name: document.place((name,)).line or 1 for name in document.value}, [], [])
    for number, entry in enumerate(list_at(document.value, (LIST,))):
        place = (LIST, number)
        names = entry if isinstance(entry, dict) else ()
        lines.cases.append(document.place(place).line or 1)
        lines.members.append({name: document.place((*place, name)).line or 1 for name in names})
    return document.value, lines


def _parse_yaml(path: Path, text: str) -> tuple[Any, _Lines]:
    try:
        import yaml
    except ImportError as error:
        feature = f"YAML ({path})"
        raise MissingLibraryError(feature, "PyYAML", "yaml", "; or write TOML") from error
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else 1
        problem = getattr(error, "problem", None) or error
        raise UsageError(f"{path}:{line}: this is not YAML: {problem}") from error
    lines = _Lines(_yaml_key_lines(root), [], [])
    if root is not None and root.id == "mapping":
        for key, value in root.value:
            if key.value == LIST and value.id == "sequence":
                lines.cases.extend(_yaml_line(node) for node in value.value)
                lines.members.extend(_yaml_key_lines(node) for node in value.value)
    return document, lines


def _yaml_key_lines(node: Any) -> dict[str, int]:
    if node is None or node.id != "mapping":
        return {}
    return {key.value: _yaml_line(key) for key, _ in node.value}


def _yaml_line(node: Any) -> int:
    line: int = node.start_mark.line
    return line + 1


# -- one case


@dataclass(frozen=True, slots=True)
class _CaseReader:
    """Checks one case of a file and reports mistakes with their line."""

    path: Path
    number: int
    lines: _Lines

    def error(self, member: str | None, message: str) -> UsageError:
        """Return an error at the line of a member, or of the case."""
        return UsageError(f"{self._place(member)}: {message}")

    def _place(self, member: str | None = None) -> str:
        line = self.lines.cases[self.number]
        if member is not None:
            line = self.lines.members[self.number].get(member, line)
        return f"{self.path}:{line}"

    def read(self, entry: dict[str, Any]) -> Case:
        """Return a case.

        Raises:
            UsageError: If it is malformed.
        """
        for name, value in entry.items():
            if name not in MEMBERS:
                hint = did_you_mean(str(name), MEMBERS) or f"a case has {', '.join(MEMBERS)}"
                raise self.error(name, f"unknown member {name!r}; {hint}")
            expected_type, description = MEMBERS[name]
            if not isinstance(value, expected_type):
                raise self.error(name, f"{name} must be {description}")
        expect = entry.get("expect")
        choices = f"one of {', '.join(EXPECTATIONS)}"
        if expect is None:
            raise self.error(None, f'the case has no expect; write expect = "deny", or {choices}')
        if expect not in EXPECTATIONS:
            hint = did_you_mean(expect, EXPECTATIONS) or choices
            raise self.error("expect", f"expect = {expect!r}: {hint}")
        agents = self._read_agents(entry)
        parts = {"event", "tool", "input", "fields"} & entry.keys()
        has_payload = "payload" in entry
        if has_payload == ("event" in entry) or (has_payload and parts):
            text = "a case has an event (with tool, input, fields) or a payload, and one only"
            raise self.error(None, text)
        event = ""
        if not has_payload:
            event = self._canonical_event(entry["event"], agents)
        elif not agents:
            # Without an agent, a payload would be sent to agents that do not have its event.
            agent_name = recognize(entry["payload"], {})
            if agent_name is None:
                text = 'the payload does not show its agent; add agent = "claude"'
                raise self.error("payload", text)
            agents = (agent_name,)
        self._check_tool(event, entry.get("tool"), entry.get("input", {}))
        return Case(
            name=entry.get("name") or f"case {self.number + 1}",
            place=self._place(),
            expect=expect,
            says=entry.get("says", ""),
            agents=agents,
            event=event,
            tool=entry.get("tool"),
            input=entry.get("input", {}),
            fields=entry.get("fields", {}),
            payload=entry.get("payload"),
        )

    def _read_agents(self, entry: dict[str, Any]) -> tuple[str, ...]:
        member = "agents" if "agents" in entry else "agent"
        names: list[Any] = entry.get("agents") or []
        if not names and "agent" in entry:
            names = [entry["agent"]]
        for name in names:
            if not isinstance(name, str) or name not in AGENTS:
                hint = did_you_mean(str(name), AGENTS) or f"one of {', '.join(AGENTS)}"
                raise self.error(member, f"there is no agent {name!r}; {hint}")
        return tuple(names)

    def _canonical_event(self, name: str, agent_names: tuple[str, ...]) -> str:
        """Return the canonical name of an event that may be named as an agent does."""
        canonical_names: dict[str, None] = {}
        wire_names: dict[str, None] = {}
        for agent in map(get_agent, agent_names or AGENTS):
            if name in agent.by_canonical:
                return name
            if name in AGENTS[agent.name].events:
                return agent.event(name).canonical
            canonical_names.update(dict.fromkeys(agent.by_canonical))
            wire_names.update(dict.fromkeys(agent.by_wire))
        hint = did_you_mean(name, canonical_names) or did_you_mean(name, wire_names)
        hint = hint or "write one like before_tool"
        raise self.error("event", f"there is no event {name!r}; {hint}")

    def _check_tool(self, event: str, tool: str | None, arguments: Mapping[str, Any]) -> None:
        is_tool_event = event != "" and issubclass(event_class(event), ToolEvent)
        if is_tool_event and not tool:
            raise self.error("event", f'{event} needs a tool, like tool = "shell"')
        if tool is None:
            return
        if not is_tool_event:
            raise self.error("tool", f"{event} has no tool; leave it out")
        tools = set(TOOLS)
        names = list(TOOLS.get(tool, ()))
        for agent in map(get_agent, CODING_AGENTS):
            tools.update(agent.tools)
            agent_tool = agent.vocabulary.tools.get(tool)
            if agent_tool is not None:
                names.extend(agent_tool.keys.values())
        if tool not in tools and not tool.startswith(MCP_PREFIX):
            # A tool that resembles none may be one of an extension.
            hint = did_you_mean(tool, sorted(tools))
            if hint:
                raise self.error("tool", f"no agent has a tool {tool!r}; {hint}")
        if tool not in TOOLS:
            return
        # A misspelt argument is refused, because the hook would be tried on another call.
        for name in arguments:
            hint = did_you_mean(name, names) if name not in names else None
            if hint is not None:
                raise self.error("input", f"{tool} has no argument {name!r}; {hint}")

"""`anyhook test --init`: a first file of cases for the configured hooks."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook.agents.samples import samples_of
from anyhook.cli import OK
from anyhook.cli.cases import configured_agents, load_engine, run_case, untrusted_hooks
from anyhook.cli.output import console, print_json
from anyhook.engine.sync import SyncEngine
from anyhook.errors import UsageError
from anyhook.manage.reaching import SAMPLE_TOOL, reaching_fields
from anyhook.model.definitions import HandlerSpec, HookDefinition, each_handler
from anyhook.model.events import ToolEvent, event_class
from anyhook.sandbox.sandbox import Sandbox
from anyhook.settings.toml_edit import table_lines
from anyhook.testing.cases import LIST, Case
from anyhook.testing.events import make_payload

if TYPE_CHECKING:
    from anyhook.engine.engine import Engine
    from anyhook.sandbox.keeper import SandboxRun

SAMPLE_INPUTS: dict[str, dict[str, Any]] = {
    "shell": {"command": "rm -rf build"},
    "read_file": {"file_path": "README.md"},
    "read_many_files": {"include": ["*.md"]},
    "write_file": {"file_path": "a.txt", "content": "text"},
    "edit_file": {"file_path": "a.txt", "old_string": "old", "new_string": "new"},
    "edit_notebook": {"notebook_path": "a.ipynb", "new_source": "1"},
    "list_directory": {"path": "."},
    "glob": {"pattern": "*.py"},
    "grep": {"pattern": "word"},
    "web_fetch": {"url": "https://example.com", "prompt": "Summarize it"},
    "web_search": {"query": "words"},
    "agent": {"prompt": "Look into it", "description": "a task"},
    "skill": {"name": "a-skill"},
}
"""Canonical tool to the arguments in its first case."""


def write_first_cases(path: Path, project: Path, *, trust_once: bool, as_json: bool) -> int:
    """Write a file with one case for each configured hook.

    A case expects what the hooks answer now. Hooks that are not trusted do not run: their case has
    a comment in place of the expected answer. Returns the exit code.

    Raises:
        UsageError: If the file exists, is not named as TOML, or no hook is configured.
    """
    if path.suffix != ".toml":
        raise UsageError(f"{path} must end with .toml")
    if path.exists():
        raise UsageError(f"{path} exists; name another file: anyhook test --init FILE.toml")
    # Agents that read the same file have the same hooks.
    cases: dict[str, None] = {}
    with Sandbox.for_project(project) as sandbox:
        for agent in configured_agents(project):
            untrusted = untrusted_hooks(load_engine(project, agent, trust_once=trust_once))
            is_trusted = trust_once or not untrusted
            inside = sandbox.inside(str(project))
            texts = sandbox.run(first_cases, inside, agent, is_trusted)
            cases.update(dict.fromkeys(sandbox.outside(texts)))
    if not cases:
        raise UsageError(f"no hooks are configured in {project}; see: anyhook init")
    header = f"# Cases for `anyhook test {path.name}`.\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([header, *cases]), encoding="utf-8")
    if as_json:
        print_json({"file": str(path), "cases": len(cases)})
    else:
        line = shlex.join(["anyhook", "test", str(path)])
        console().print(f"wrote {path}; run it with: {line}")
    return OK


def first_cases(_run: SandboxRun, project: str, agent: str, is_trusted: bool) -> list[str]:
    """Return the text of a case for each configured hook, as a function of a sandbox."""
    engine = load_engine(Path(project), agent, trust_once=is_trusted)
    texts: list[str] = []
    with SyncEngine(engine) as sync:
        for definition, handler in each_handler(engine.hooks.definitions):
            case = _sample_case(engine, definition, handler)
            expect = None
            if is_trusted:
                expect = run_case(sync, case).got.partition(", ")[0]
            texts.append(_case_toml(case, handler, expect))
    return texts


def _sample_case(engine: Engine, definition: HookDefinition, handler: HandlerSpec) -> Case:
    """Return a case with an event that reaches a hook."""
    agent, event = engine.agent, definition.event
    fields = reaching_fields(engine, definition, handler) or {}
    tool: str | None = None
    if issubclass(event_class(event), ToolEvent):
        tool = agent.vocabulary.tool(fields.get("tool") or SAMPLE_TOOL)
        arguments = SAMPLE_INPUTS.get(tool, {})
    else:
        # The fields that are its own. What the agent sends anyway makes no difference to a case.
        payload = make_payload(event, agent=agent.name)
        common = {*make_payload("session_end", agent=agent.name), agent.event_key}
        common |= samples_of(agent).events.get(agent.by_canonical[event].wire, {}).keys()
        names = event_class(event).record_names
        arguments = {key: payload[key] for key in payload if key in names and key not in common}
        arguments |= fields
    return Case(
        name=f"{handler.label} on {event}",
        place=str(handler.place),
        expect="none",
        agents=(agent.name,),
        event=event,
        tool=tool,
        input=arguments,
    )


def _case_toml(case: Case, handler: HandlerSpec, expect: str | None) -> str:
    members: dict[str, Any] = {"name": case.name, "agent": case.agents[0], "event": case.event}
    members |= {"tool": case.tool, "input": case.input or None, "expect": expect}
    header, *lines = table_lines([LIST], members)
    # Without `expect` the file is refused until the user has completed the case.
    if expect is None:
        lines.append('# expect = "deny"  # the project is not trusted, so the hook was not run')
    return "\n".join([f"{header}  # {handler.place}", *lines, ""])

"""What is wrong with the hooks of a project: what `anyhook check`, the panel and the page show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyhook.authoring.inspect import NEVER_RUNS, calls_run, gaps, scan
from anyhook.engine.checks import check_hooks
from anyhook.engine.hook_files import files_of
from anyhook.engine.script_checks import POWERLESS, is_powerless
from anyhook.files import read_user_file
from anyhook.manage.hooks import configured_handlers
from anyhook.model.diagnostics import Place, diagnose
from anyhook.model.suggest import closest
from anyhook.model.tools import TOOLS
from anyhook.settings.companions import check_companions
from anyhook.trust.native import explain_states
from anyhook.trust.trees import LARGEST_SCRIPT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from anyhook.authoring.inspect import Use
    from anyhook.engine.engine import Engine
    from anyhook.model.definitions import HandlerSpec
    from anyhook.model.diagnostics import Diagnostic


@dataclass(frozen=True, slots=True)
class Finding:
    """A diagnostic about the hooks of one agent.

    Attributes:
        agent: Name of the agent.
        diagnostic: The diagnostic.
    """

    agent: str
    diagnostic: Diagnostic


def find_problems(engines: Iterable[Engine]) -> list[Finding]:
    """Return what `anyhook check` reports about the hooks of some agents, sorted by place."""
    findings: list[Finding] = []
    for engine in engines:
        # Several hooks can lead to the same diagnostic.
        unique = dict.fromkeys(_diagnostics(engine))
        findings += [Finding(engine.agent.name, diagnostic) for diagnostic in unique]
    return sorted(findings, key=_sort_key)


def _sort_key(finding: Finding) -> tuple[str, int, int, str]:
    place = finding.diagnostic.place or Place("")
    return place.file, place.line or 0, place.column or 0, finding.diagnostic.code


def _diagnostics(engine: Engine) -> Iterator[Diagnostic]:
    yield from engine.hooks.diagnostics
    yield from engine.switched_off()
    yield from engine.guard.diagnostics()
    yield from explain_states(engine.agent, engine.hooks)
    yield from check_companions(engine.agent, engine.hooks)
    yield from _check_hook_files(engine)
    yield from check_hooks(
        engine.agent,
        engine.definitions,
        engine.project_dir,
        engine.guard.variables(),
        engine.environ,
        engine.guard.may_match,
    )
    if not engine.definitions:
        title = engine.agent.title
        text = f"no hook of {title} is configured here; nothing was checked"
        yield diagnose("no-hooks", text)


def _check_hook_files(engine: Engine) -> Iterator[Diagnostic]:
    """Check the hook files that are written with `anyhook.authoring`."""
    for path, handler in _hook_files(engine).items():
        uses = scan(path)
        if uses and not calls_run(read_user_file(path, LARGEST_SCRIPT)):
            yield diagnose("never-runs", f"{path.name}: {NEVER_RUNS}", Place(str(path)))
        for use, problem in gaps(uses, engine.agent):
            place = Place(str(path), use.line)
            yield diagnose("ability", f"{use.name}: {problem}", place, handler=handler.label)
        for use in uses:
            yield from _check_subjects(engine, use, path)
            spec = engine.agent.by_canonical.get(use.event)
            if spec and "deny" in use.abilities and is_powerless(spec, handler):
                place = Place(str(path), use.line)
                yield diagnose("background-guard", f"{use.name}: {POWERLESS}", place)


def _hook_files(engine: Engine) -> dict[Path, HandlerSpec]:
    """Return the files that commands name, each with the first hook that names it."""
    files: dict[Path, HandlerSpec] = {}
    for handler in configured_handlers(engine):
        if handler.kind == "command":
            for path in files_of(engine, handler):
                files.setdefault(path, handler)
    return files


def _check_subjects(engine: Engine, use: Use, path: Path) -> Iterator[Diagnostic]:
    """Report tools that a function is registered for and that no agent has."""
    spec = engine.agent.by_canonical.get(use.event)
    if spec is None or spec.subject != "tool_name":
        return
    tools = {*TOOLS, *engine.agent.tools, *engine.agent.renamed_tools}
    for subject in use.subjects:
        is_pattern = not subject.replace("_", "").isalnum()
        is_mcp_tool = "__" in subject
        # A pattern or the tool of a server may match something that is not known here.
        if subject in tools or is_pattern or is_mcp_tool:
            continue
        suggestion = closest(subject, tools)
        hint = f"tools: {', '.join(sorted(TOOLS))}"
        if suggestion:
            hint = f"did you mean {suggestion!r}?"
        text = f"{use.name}: {subject!r} is not a tool; {hint}"
        yield diagnose("unknown-subject", text, Place(str(path), use.line))

"""Mistakes in hook files that are written with `anyhook.authoring`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from anyhook.authoring.inspect import NEVER_RUNS, calls_run, gaps, scan
from anyhook.checks.scripts import POWERLESS, is_powerless
from anyhook.engine.hook_files import files_of
from anyhook.files import read_user_file
from anyhook.model.diagnostics import Diagnostic, Place, diagnose
from anyhook.model.suggest import closest
from anyhook.model.tools import TOOLS
from anyhook.trust.trees import MAX_SCRIPT_SIZE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from anyhook.authoring.inspect import Use
    from anyhook.engine.engine import Engine
    from anyhook.model.definitions import HandlerSpec


class CheckedFile(NamedTuple):
    """A hook file, with the first hook whose command names it, and its functions."""

    path: Path
    handler: HandlerSpec
    uses: list[Use]


def read_hook_files(engine: Engine) -> Iterator[CheckedFile]:
    """Yield the hook files that commands name, each with the first hook that names it."""
    handlers: dict[Path, HandlerSpec] = {}
    for definition in engine.definitions:
        for handler in definition.handlers:
            if handler.kind == "command":
                for path in files_of(engine, handler):
                    handlers.setdefault(path, handler)
    for path, handler in handlers.items():
        uses = scan(path)
        if uses:
            yield CheckedFile(path, handler, uses)


def never_runs(_engine: Engine, file: CheckedFile) -> Iterator[Diagnostic]:
    """Report a hook file that decides nothing when it is started."""
    if not calls_run(read_user_file(file.path, MAX_SCRIPT_SIZE)):
        yield diagnose("never-runs", f"{file.path.name}: {NEVER_RUNS}", Place(str(file.path)))


def missing_abilities(engine: Engine, file: CheckedFile) -> Iterator[Diagnostic]:
    """Report what a function asks for and the agent cannot do."""
    for use, problem in gaps(file.uses, engine.agent):
        place = Place(str(file.path), use.line)
        yield diagnose("ability", f"{use.name}: {problem}", place, handler=file.handler.label)


def unknown_subjects(engine: Engine, file: CheckedFile) -> Iterator[Diagnostic]:
    """Report tools that a function is registered for and that no agent has."""
    # Of names that are as similar, `closest` suggests the last one: the common name.
    tools = [*engine.agent.tools, *engine.agent.renamed_tools, *TOOLS]
    for use in file.uses:
        spec = engine.agent.by_canonical.get(use.event)
        if spec is None or spec.subject != "tool_name":
            continue
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
            yield diagnose("unknown-subject", text, Place(str(file.path), use.line))


def powerless_functions(engine: Engine, file: CheckedFile) -> Iterator[Diagnostic]:
    """Report a function whose denial has no effect, because the agent does not wait for it."""
    for use in file.uses:
        spec = engine.agent.by_canonical.get(use.event)
        if spec and "deny" in use.abilities and is_powerless(spec, file.handler):
            place = Place(str(file.path), use.line)
            yield diagnose("background-guard", f"{use.name}: {POWERLESS}", place)

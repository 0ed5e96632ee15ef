"""Mistakes in hook files that are written with `anyhook.authoring`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from anyhook.authoring.inspect import Use, gaps, never_runs, scan
from anyhook.checks.scripts import POWERLESS, is_powerless
from anyhook.engine.hook_files import files_of
from anyhook.files import read_user_file
from anyhook.matching.matchers import compile_matcher
from anyhook.model.definitions import HandlerSpec, HookDefinition, each_handler
from anyhook.model.diagnostics import Diagnostic, Place, diagnose
from anyhook.model.suggest import closest
from anyhook.model.tools import TOOLS
from anyhook.trust.trees import MAX_SCRIPT_SIZE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from anyhook.engine.engine import Engine


class CheckedFile(NamedTuple):
    """A hook file, with the hooks whose commands name it, and its functions."""

    path: Path
    hooks: list[tuple[HookDefinition, HandlerSpec]]
    uses: list[Use]

    @property
    def handler(self) -> HandlerSpec:
        """The first hook."""
        return self.hooks[0][1]


def read_hook_files(engine: Engine) -> Iterator[CheckedFile]:
    """Yield the hook files that commands name, each with the hooks that name it."""
    hooks: dict[Path, list[tuple[HookDefinition, HandlerSpec]]] = {}
    for definition, handler in each_handler(engine.definitions):
        if handler.kind == "command":
            for path in files_of(engine, handler):
                hooks.setdefault(path, []).append((definition, handler))
    for path, hooks_of_file in hooks.items():
        uses = scan(path)
        if uses:
            yield CheckedFile(path, hooks_of_file, uses)


def run_twice(engine: Engine, file: CheckedFile) -> Iterator[Diagnostic]:
    """Report a hook file that two settings files start on the same event.

    Cursor reads the settings of Claude Code, too.
    """
    first: dict[str, HandlerSpec] = {}
    for definition, handler in file.hooks:
        other = first.setdefault(definition.event, handler)
        is_elsewhere = other.place.file != handler.place.file
        if is_elsewhere and other.identity != handler.identity:
            text = (
                f"{engine.agent.title} also runs {file.path.name} for {other.place}, so that it "
                "runs twice; remove one of them"
            )
            label = handler.label
            yield diagnose("duplicate-hook", f"{label!r}: {text}", handler.place, handler=label)


def missing_run(_engine: Engine, file: CheckedFile) -> Iterator[Diagnostic]:
    """Report a hook file that decides nothing when it is started."""
    problem = never_runs(read_user_file(file.path, MAX_SCRIPT_SIZE))
    if problem:
        yield diagnose("never-runs", f"{file.path.name}: {problem}", Place(str(file.path)))


def missing_abilities(engine: Engine, file: CheckedFile) -> Iterator[Diagnostic]:
    """Report what a function asks for and the agent cannot do."""
    for use, problem in gaps(file.uses, engine.agent):
        place = Place(str(file.path), use.line)
        yield diagnose("ability", f"{use.name}: {problem}", place, handler=file.handler.label)


def unknown_subjects(engine: Engine, file: CheckedFile) -> Iterator[Diagnostic]:
    """Report tools that a function is registered for and that no agent has."""
    # Of names that are as similar, `closest` suggests the last one: the common name.
    tools = [*engine.agent.tools, *engine.agent.foreign_tools, *TOOLS]
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


def unreached_functions(engine: Engine, file: CheckedFile) -> Iterator[Diagnostic]:
    """Report a matcher that matches none of the tools that the functions of the file are for."""
    for definition, handler in file.hooks:
        form = engine.agent.form(definition.form)
        spec = form.by_canonical[definition.event]
        uses = [use for use in file.uses if use.event == definition.event]
        is_written_out = all(use.subjects and use.has_all_subjects for use in uses)
        if spec.subject != "tool_name" or not uses or not is_written_out:
            continue
        names: list[str] = []
        for use in uses:
            for subject in use.subjects:
                names += form.vocabulary.tool_names(subject)
        matcher = compile_matcher(definition.matcher, spec.matcher_style)
        may_match = matcher.expression is None or engine.guard.may_match(definition)
        has_patterns = any("*" in name for name in names)
        if has_patterns or not may_match or any(map(matcher.matches, names)):
            continue
        text = (
            f"{handler.label!r}: its functions on {spec.wire} are for "
            f"{', '.join(dict.fromkeys(names))}, which the matcher {matcher.pattern!r} does not "
            "match; name one of them in the matcher"
        )
        yield diagnose("dead-matcher", text, handler.place, handler=handler.label)


def powerless_functions(engine: Engine, file: CheckedFile) -> Iterator[Diagnostic]:
    """Report a function whose denial has no effect, because the agent does not wait for it."""
    for definition, handler in file.hooks:
        spec = engine.agent.by_canonical.get(definition.event)
        if spec is None or not is_powerless(spec, handler):
            continue
        for use in file.uses:
            if use.event == definition.event and "deny" in use.abilities:
                text = f"{handler.label!r}: {use.name}: {POWERLESS}"
                yield diagnose("background-guard", text, handler.place, handler=handler.label)

"""What a hook file does on which event, as far as its text shows. Nothing of it runs."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from anyhook.agents.capabilities import Support, support
from anyhook.authoring.degrade import NAMES
from anyhook.files import read_user_file
from anyhook.model.events import event_class
from anyhook.model.record import Record
from anyhook.python_source import read_python

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from anyhook.agents.spec import AgentSpec

AUTHORING = "anyhook.authoring"
MAX_SIZE = 1024 * 1024
"""Bytes; a larger file is not a hook file that people have written."""
CALLS = {
    "deny": "deny",
    "ask": "ask",
    "defer": "defer",
    "stop": "stop",
    "context": "context",
    "message": "message",
    "rewrite": "rewrite",
    "respond": "respond",
    "change_request": "change_request",
    "replace_result": "replace_result",
    "only": "filter_tools",
}
"""Function that an author calls to the ability that it needs."""


class Use(Record):
    """One function of a hook file, as far as it is written out.

    Attributes:
        event: Canonical name of its event.
        subjects: What it is for.
        abilities: What it may ask of the agent.
        has_all_subjects: Whether everything that it is for is written out; what a name stands for
            is not known.
    """

    event: str
    subjects: tuple[str, ...]
    name: str
    line: int
    abilities: tuple[str, ...]
    has_all_subjects: bool = True


def scan(path: Path) -> list[Use]:
    """List the functions of a hook file; a file that is not one, or not Python, has none."""
    try:
        source = read_user_file(path, MAX_SIZE)
    except OSError:
        return []
    if AUTHORING.encode() not in source:
        return []
    uses: list[Use] = []
    for node in read_python(source).nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            uses.extend(_uses(node))
    return uses


def names_all_functions(source: bytes) -> bool:
    """Return whether every function of a hook file stands below a decorator that is written out.

    Otherwise it may have functions for events that `scan` does not find: registered by a call, in
    another file, or for an event in a variable.
    """
    nodes = read_python(source).nodes
    hooks = hooks_names(nodes)
    decorators: set[int] = set()
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and [*_uses(node)]:
            for decorator in node.decorator_list:
                target = decorator.func if isinstance(decorator, ast.Call) else decorator
                decorators.add(id(target))
    names = [node for node in nodes if isinstance(node, ast.Name) and node.id in hooks]
    members = [
        node
        for node in nodes
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") in hooks
    ]
    is_passed_on = sum(isinstance(name.ctx, ast.Load) for name in names) > len(members)
    others = {"example", "about", "run"}
    are_known = all(id(node) in decorators or node.attr in others for node in members)
    return bool(hooks) and are_known and not is_passed_on


def hooks_names(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that a hook file gives to what `Hooks()` returns."""
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Assign) and _is_hooks_call(node.value):
            names.update(target.id for target in node.targets if isinstance(target, ast.Name))
    return names


def _is_hooks_call(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    return "Hooks" in (getattr(node.func, "id", ""), getattr(node.func, "attr", ""))


def shadow_line(source: bytes) -> int | None:
    """Return the line of `hooks = Hooks(shadow=True)` in a hook file; `None` if it has none."""
    for statement in read_python(source).statements:
        value = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
        if isinstance(value, ast.Call) and _is_hooks_call(value):
            for keyword in value.keywords:
                if keyword.arg == "shadow" and getattr(keyword.value, "value", None) is True:
                    return keyword.value.lineno
    return None


def builds_hooks(source: bytes) -> bool:
    """Return whether a Python file is a hook file: it imports `Hooks` from anyhook and uses it.

    One that cannot be parsed counts as a hook file, so that the error of its import is reported.
    """
    nodes = read_python(source).nodes
    if not nodes:
        return True
    classes: set[str] = set()
    modules: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "anyhook":
            for alias in node.names:
                names = classes if alias.name in {"Hooks", "*"} else modules
                names.add("Hooks" if alias.name == "*" else alias.asname or alias.name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == "anyhook":
                    modules.add(alias.asname or "anyhook")
    for node in nodes:
        if isinstance(node, ast.Name) and node.id in classes:
            return True
        if isinstance(node, ast.Attribute) and node.attr == "Hooks" and modules:
            return True
    return False


def never_runs(source: bytes) -> str:
    """Return what is wrong with a hook file that decides nothing when an agent starts it.

    It is empty if the file calls `hooks.run()` somewhere, or cannot be parsed: its import reports
    the error.
    """
    nodes = read_python(source).nodes
    modules: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            modules.update(alias.asname or alias.name for alias in node.names)
    calls = [node.func for node in nodes if isinstance(node, ast.Call)]
    methods = [func for func in calls if isinstance(func, ast.Attribute) and func.attr == "run"]
    # `subprocess.run()` is a function of a module.
    runs = any(getattr(method.value, "id", "") not in modules for method in methods)
    return "" if runs or not nodes else NEVER_RUNS


NEVER_RUNS = (
    "it never calls hooks.run(), so it decides nothing when an agent starts it; "
    'end it with: if __name__ == "__main__": hooks.run()'
)
AFTER_TOOL, FAILED_TOOL = "after_tool", "post_tool_use_failure"
STOP_FLAG = "stop_hook_active"
"""Field of an event that is true when a hook has already continued the agent in this turn."""


def uses_without_support(uses: Sequence[Use], agent: AgentSpec) -> list[tuple[Use, str]]:
    """List the functions of a hook file that ask for what an agent cannot do, and what that is."""
    missing: list[tuple[Use, str]] = []
    for use in uses:
        spec = agent.by_canonical.get(use.event)
        if spec is None and (use.event, agent.tool_failure_event) == (FAILED_TOOL, AFTER_TOOL):
            problem = f"{agent.title} reports failed calls in {AFTER_TOOL}; it does not run there"
            if not any(it.name == use.name and it.event == AFTER_TOOL for it in uses):
                missing.append((use, problem))
            continue
        if spec is None:
            missing.append((use, f"{agent.title} has no event {use.event}; it never runs there"))
            continue
        for ability in use.abilities:
            level = support(agent, use.event, ability)
            if level in (Support.NO, Support.PROMISED):
                verb = "has no" if level is Support.NO else "ignores"
                missing.append((use, f"{agent.title} {verb} {NAMES[ability]} on {spec.wire}"))
    return missing


def _uses(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Use]:
    for decorator in function.decorator_list:
        target, arguments = decorator, []
        if isinstance(decorator, ast.Call):
            target, arguments = decorator.func, decorator.args
        if not isinstance(target, ast.Attribute):
            continue
        event = target.attr
        subjects: tuple[str, ...] = ()
        for argument in arguments:
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                subjects += (argument.value,)
        has_all_subjects = len(subjects) == len(arguments)
        if event == "on" and subjects:
            event, subjects = subjects[0], subjects[1:]
        if event_class(event).name == event:
            yield Use(
                event=event,
                subjects=subjects,
                name=function.name,
                line=function.lineno,
                abilities=tuple(dict.fromkeys(_abilities(function))),
                has_all_subjects=has_all_subjects,
            )


def _abilities(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    for call in sorted(calls, key=lambda node: (node.lineno, node.col_offset)):
        name = getattr(call.func, "id", None) or getattr(call.func, "attr", None)
        if name in CALLS:
            yield CALLS[name]
        yield from (k.arg for k in call.keywords if k.arg in ("context", "approve"))

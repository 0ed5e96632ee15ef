"""Functions of hook files whose answer never counts, as far as their text shows."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from anyhook.authoring.inspect import CALLS, hooks_names
from anyhook.files import read_user_file
from anyhook.model.diagnostics import Diagnostic, Place, diagnose
from anyhook.model.events import EVENTS, event_class
from anyhook.model.suggest import closest
from anyhook.python_source import read_python
from anyhook.trust.trees import MAX_SCRIPT_SIZE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyhook.checks.scripts import CheckedFile
    from anyhook.engine.engine import Engine

Function = ast.FunctionDef | ast.AsyncFunctionDef
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_MEMBERS = frozenset({"on", "example", "about", "register", "run"})
_METHODS = frozenset({"rewrite", "only"})
"""Methods of an event that make an answer."""


class _Mistake(NamedTuple):
    line: int
    text: str


def unknown_events(engine: Engine, file: CheckedFile) -> Iterator[Diagnostic]:
    """Report decorators of hooks for events that do not exist: the file cannot be loaded."""
    nodes = read_python(read_user_file(file.path, MAX_SCRIPT_SIZE)).nodes
    hooks = hooks_names(nodes)
    for function in nodes:
        if not isinstance(function, Function):
            continue
        for decorator in function.decorator_list:
            name = _event_name(decorator, hooks)
            if name is None or name in _MEMBERS or event_class(name).name == name:
                continue
            spec = engine.agent.by_wire.get(name)
            suggestion = spec.canonical if spec is not None else closest(name, EVENTS)
            hint = f"; did you mean {suggestion!r}?" if suggestion else ""
            text = (
                f"{function.name}: there is no event {name!r}, so the file cannot be loaded{hint}"
            )
            yield diagnose("never-runs", text, Place(str(file.path), decorator.lineno))


def lost_answers(_engine: Engine, file: CheckedFile) -> Iterator[Diagnostic]:
    """Report functions of a hook file that make an answer and do not return it."""
    nodes = read_python(read_user_file(file.path, MAX_SCRIPT_SIZE)).nodes
    hooks = hooks_names(nodes)
    answers = _imported_answers(nodes)
    for function in nodes:
        if not isinstance(function, Function):
            continue
        events = [_event_name(decorator, hooks) for decorator in function.decorator_list]
        if not any(events):
            continue
        for mistake in _mistakes(function, answers):
            text = f"{function.name}: {mistake.text}"
            yield diagnose("answer-lost", text, Place(str(file.path), mistake.line))


def _event_name(decorator: ast.expr, hooks: set[str]) -> str | None:
    """Return the event in a decorator `hooks.before_tool(…)`; `None` if it is another one."""
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    if not isinstance(target, ast.Attribute) or getattr(target.value, "id", "") not in hooks:
        return None
    if target.attr != "on" or not isinstance(decorator, ast.Call):
        return target.attr
    first = decorator.args[0] if decorator.args else None
    if isinstance(first, ast.Constant) and isinstance(first.value, str):
        return first.value
    return "on"


def _imported_answers(nodes: tuple[ast.AST, ...]) -> set[str]:
    """Return the names by which a file has imported the functions that make an answer."""
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "anyhook":
            for alias in node.names:
                if alias.name in {*CALLS, "allow"}:
                    names.add(alias.asname or alias.name)
    # Another function of that name may do anything.
    for node in nodes:
        if isinstance(node, Function):
            names.discard(node.name)
    return names


def _mistakes(function: Function, answers: set[str]) -> Iterator[_Mistake]:
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    required = len(positional) - len(arguments.defaults)
    needed_by_name = [default for default in arguments.kw_defaults if default is None]
    takes_event = (positional or arguments.vararg) and required <= 1 and not needed_by_name
    if not takes_event:
        yield _Mistake(function.lineno, "it is called with the event alone; write one parameter")
    event = positional[0].arg if positional else ""
    # Functions and classes inside of it return their own values.
    pending: list[ast.AST] = [*function.body]
    while pending:
        node = pending.pop(0)
        if not isinstance(node, _SCOPES):
            pending += ast.iter_child_nodes(node)
        match node:
            case ast.Yield() | ast.YieldFrom():
                text = "with `yield` it is a generator, whose answer is ignored; return the answer"
                yield _Mistake(node.lineno, text)
            case ast.Expr(value=ast.Call() as call) if name := _answer(call, answers, event):
                text = f"the result of {name}() is not returned, so it has no effect; return it"
                yield _Mistake(node.lineno, text)
            case ast.Raise(exc=ast.Call() as call) if name := _answer(call, answers, event):
                text = f"the result of {name}() cannot be raised; return it"
                yield _Mistake(node.lineno, text)
            case ast.Return(value=ast.Constant(value=value)) if value is not None:
                text = f"it returns {value!r}, which is not an answer; return deny(…), or nothing"
                yield _Mistake(node.lineno, text)


def _answer(call: ast.Call, answers: set[str], event: str) -> str:
    """Return the function that makes an answer; empty if the call is another one."""
    if isinstance(call.func, ast.Name):
        return call.func.id if call.func.id in answers else ""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in _METHODS:
        return ""
    return f"{event}.{call.func.attr}" if getattr(call.func.value, "id", "") == event else ""

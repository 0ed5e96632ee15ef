"""What a Python script prints and how it ends."""

from __future__ import annotations

import ast
from contextlib import suppress
from typing import TYPE_CHECKING

from anyhook.checks.script_facts import (
    DECISION_MEMBERS,
    Branch,
    Exit,
    Flow,
    Return,
    ScriptCall,
    ScriptOutput,
    Statement,
)
from anyhook.python_source import read_python

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


_EXITS = frozenset({"sys.exit", "exit", "SystemExit", "os._exit", "quit"})
_PRINTS = frozenset({"print", "sys.stdout.write", "sys.stderr.write"})
_STREAMS = {"sys.stdout": False, "sys.stderr": True}
"""Streams, and whether each is standard error."""
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def python_flow(text: str) -> Flow:
    """Return the flow of a Python script; an empty one if it has a syntax error."""
    flow = Flow(text)
    statements, nodes = read_python(text)
    with suppress(ValueError, RecursionError, MemoryError):
        flow.statements = _Reader(nodes, flow).read_block(statements)
    return flow


class _Reader:
    """Turns the statements of a script into its flow; the functions are added to it."""

    def __init__(self, nodes: Iterable[ast.AST], flow: Flow) -> None:
        self._flow = flow
        self._objects: dict[str, list[ast.Dict]] = {}
        for node in nodes:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict):
                for target in node.targets:
                    self._objects.setdefault(ast.unparse(target), []).append(node.value)

    def read_block(self, body: list[ast.stmt]) -> list[Statement]:
        """Return what the statements of a block do."""
        statements: list[Statement] = []
        for node in body:
            statements += self._read_statement(node)
        return statements

    def _read_statement(self, node: ast.stmt) -> list[Statement]:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                body = self.read_block(node.body)
                self._flow.functions.setdefault(node.name, body)
                return []
            case ast.ClassDef():
                return self.read_block(node.body)
            case ast.If():
                choices = [self.read_block(node.body), self.read_block(node.orelse)]
                return [*self._calls(node.test), Branch(choices)]
            case ast.While():
                inner = [*self._calls(node.test), *self.read_block(node.body)]
                return [Branch([inner, []]), *self.read_block(node.orelse)]
            case ast.For() | ast.AsyncFor():
                inner = self.read_block(node.body)
                calls = self._calls(node.iter)
                return [*calls, Branch([inner, []]), *self.read_block(node.orelse)]
            case ast.Try() | ast.TryStar():
                usual = [*self.read_block(node.body), *self.read_block(node.orelse)]
                handlers = [self.read_block(handler.body) for handler in node.handlers]
                return [Branch([usual, *handlers]), *self.read_block(node.finalbody)]
            case ast.With() | ast.AsyncWith():
                calls = [call for item in node.items for call in self._calls(item.context_expr)]
                return [*calls, *self.read_block(node.body)]
            case ast.Match():
                cases = [self.read_block(case.body) for case in node.cases]
                return [*self._calls(node.subject), Branch([*cases, []])]
            case ast.Return():
                return [*self._calls(node.value), Return()]
            case ast.Raise():
                return [*self._calls(node.exc), Exit(node.lineno, None)]
        return self._calls(node)

    def _calls(self, node: ast.AST | None) -> list[Statement]:
        """Return what the calls in an expression do, the inner ones first."""
        if node is None:
            return []
        calls = sorted(_calls_in(node), key=lambda call: (call.end_lineno, call.end_col_offset))
        statements: list[Statement] = []
        for call in calls:
            name = ast.unparse(call.func)
            if name in _EXITS:
                statements.append(Exit(call.lineno, _exit_code(call.args)))
            elif name in _PRINTS:
                streams = [keyword.value for keyword in call.keywords if keyword.arg == "file"]
                stream = ast.unparse(streams[0]) if streams else name.removesuffix(".write")
                stream = "sys.stdout" if stream == "print" else stream
                statements += self._read_print(call, stream)
            elif name == "json.dump" and len(call.args) > 1:
                statements += self._read_print(call, ast.unparse(call.args[1]))
            else:
                statements.append(ScriptCall(name))
        return statements

    def _read_print(self, call: ast.Call, stream: str) -> list[Statement]:
        # A file, or a variable that may hold one.
        if not call.args or stream not in _STREAMS:
            return []
        value = call.args[0]
        reply = self._printed_object(call, value)
        printed = ast.unparse(value)
        literal = _literal_beginning(value)
        is_json = reply is not None or (literal or "").lstrip().startswith("{")
        return [
            ScriptOutput(
                line=reply.lineno if reply is not None else call.lineno,
                text=ast.unparse(reply) if reply is not None else printed,
                is_json=is_json,
                is_text=not is_json and bool((literal or "").strip()),
                is_stderr=_STREAMS[stream],
                has_decision=any(member in printed for member in DECISION_MEMBERS),
            )
        ]

    def _printed_object(self, call: ast.Call, value: ast.expr) -> ast.expr | None:
        """Return what is printed as JSON: an object if it is written out in the script."""
        dumps = [call] if ast.unparse(call.func) == "json.dump" else list(_calls_in(value))
        for inner in dumps:
            if "json.dump" in ast.unparse(inner.func) and inner.args:
                name = ast.unparse(inner.args[0])
                objects = self._objects.get(name, [])
                return objects[0] if objects else inner.args[0]
        return None


def _calls_in(node: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls in an expression, without those in functions that it defines."""
    if isinstance(node, _DEFINITIONS):
        return
    if isinstance(node, ast.Call):
        yield node
    for child in ast.iter_child_nodes(node):
        yield from _calls_in(child)


def _exit_code(arguments: list[ast.expr]) -> int | None:
    """Return the code of an exit with these arguments; `None` if only the running script knows."""
    match arguments:
        case [] | [ast.Constant(value=None)]:
            return 0
        case [ast.Constant(value=int() as code)]:
            return int(code)
        case [ast.Constant(value=str()) | ast.JoinedStr()]:  # Python prints it, and ends with 1
            return 1
    return None


def _literal_beginning(value: ast.expr) -> str | None:
    """Return the text that a value begins with; `None` if only the running script knows it."""
    if isinstance(value, ast.JoinedStr):
        return _literal_beginning(value.values[0]) if value.values else ""
    if isinstance(value, ast.BinOp):
        return _literal_beginning(value.left)
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return value.value
    return None

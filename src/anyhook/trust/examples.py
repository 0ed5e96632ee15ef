"""The examples of a Python hook file, which name files that the hook does not load."""

from __future__ import annotations

import ast
import re
from collections import Counter
from typing import TYPE_CHECKING

from anyhook.python_source import read_python

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

_NEWLINE = re.compile(r"\r\n|\r|\n")
_VALUES = (
    *(ast.Assign, ast.BinOp, ast.Call, ast.Constant, ast.Dict, ast.Expr, ast.For),
    *(ast.FormattedValue, ast.GeneratorExp, ast.JoinedStr, ast.List, ast.Name, ast.Starred),
    *(ast.Tuple, ast.comprehension, ast.expr_context, ast.keyword, ast.operator),
)
"""What spells out values; the methods of `str` that may be called on them are `_METHODS`."""
_METHODS = frozenset({"split", "splitlines", "strip"})


def without_examples(text: str) -> str:
    """Return the text of a Python hook file without its examples.

    They name files of the project, as `src/main.py`, that the hook does not load. Only statements
    that do nothing else are left out: calls of `hooks.example`, or of a function that only calls
    it, with values that are spelled out, alone or in a loop.
    """
    if "hooks.example(" not in text or "anyhook.authoring" not in text:
        return text
    statements, nodes = read_python(text)
    names = _names_set(nodes)
    if not _makes_hooks(statements) or names["hooks"] != 1 or names["Hooks"] != 1:
        return text  # `hooks.example` may be any function, which may load what it gets
    # Functions that only call `hooks.example`, and are set nowhere else.
    helpers: set[str] = set()
    for statement in statements:
        if not isinstance(statement, ast.FunctionDef) or statement.decorator_list:
            continue
        body = statement.body[1 if ast.get_docstring(statement) is not None else 0 :]
        is_shadowed = any(getattr(node, "arg", "") == "hooks" for node in ast.walk(statement))
        only_adds = bool(body) and all(map(_only_adds_examples, body))
        if names[statement.name] == 1 and only_adds and not is_shadowed:
            helpers.add(statement.name)
    examples: set[int] = set()
    others: set[int] = set()
    for statement in statements:
        lines = range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
        if _only_adds_examples(statement, helpers):
            examples.update(lines)
        else:
            others.update(lines)
    numbered = enumerate(_NEWLINE.split(text), start=1)
    return "\n".join(line for number, line in numbered if number not in examples - others)


def _names_set(nodes: Iterable[ast.AST]) -> Counter[str]:
    """Count how often each name is set, and each attribute."""
    names: Counter[str] = Counter()
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names[node.name] += 1
        elif isinstance(node, ast.alias):
            names[node.asname or node.name] += 1
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names[node.id] += 1
        elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            names[getattr(node.value, "id", "")] += 1
    return names


def _makes_hooks(statements: list[ast.stmt]) -> bool:
    """Return whether a module imports `Hooks` of anyhook and makes `hooks` with it."""
    is_imported = is_made = False
    for statement in statements:
        if isinstance(statement, ast.ImportFrom) and statement.module == "anyhook.authoring":
            is_imported |= any(
                alias.name == "Hooks" and alias.asname is None for alias in statement.names
            )
        elif isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
            is_hooks = getattr(statement.targets[0], "id", "") == "hooks"
            is_made |= is_hooks and getattr(statement.value.func, "id", "") == "Hooks"
    return is_imported and is_made


def _only_adds_examples(statement: ast.stmt, helpers: Collection[str] = ()) -> bool:
    """Return whether a statement calls `hooks.example` or a helper, and does nothing else."""
    called: set[ast.expr] = set()
    callees: set[ast.expr] = set()
    adds_example = False
    for node in ast.walk(statement):
        if isinstance(node, ast.Call):
            called.add(node.func)
        if isinstance(node, ast.Attribute):
            callees.add(node)
            is_example = node.attr == "example" and getattr(node.value, "id", "") == "hooks"
            is_text = node.attr in _METHODS and isinstance(node.value, ast.Constant | ast.Call)
            if not is_example and not is_text:
                return False
            adds_example |= is_example
        elif isinstance(node, ast.Name) and node.id in helpers:
            callees.add(node)
            adds_example = True
        elif not isinstance(node, _VALUES):
            return False
    return adds_example and called == callees

"""The examples of a Python hook file, which name files that the hook does not load."""

from __future__ import annotations

import ast
import re
import warnings

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
    that do nothing else are left out: calls of `hooks.example` with values that are spelled out,
    alone or in a loop.
    """
    if "hooks.example(" not in text or "anyhook.authoring" not in text:
        return text
    try:
        with warnings.catch_warnings(action="ignore"):
            statements = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text
    examples: set[int] = set()
    others: set[int] = set()
    for statement in statements:
        lines = range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
        (examples if _only_adds_examples(statement) else others).update(lines)
    numbered = enumerate(_NEWLINE.split(text), start=1)
    return "\n".join(line for number, line in numbered if number not in examples - others)


def _only_adds_examples(statement: ast.stmt) -> bool:
    """Return whether a statement calls `hooks.example`, and does nothing else."""
    called: set[ast.expr] = set()
    methods: set[ast.expr] = set()
    adds_example = False
    for node in ast.walk(statement):
        if isinstance(node, ast.Call):
            called.add(node.func)
        if isinstance(node, ast.Attribute):
            methods.add(node)
            is_example = node.attr == "example" and getattr(node.value, "id", "") == "hooks"
            is_text = node.attr in _METHODS and isinstance(node.value, ast.Constant | ast.Call)
            if not is_example and not is_text:
                return False
            adds_example |= is_example
        elif not isinstance(node, _VALUES):
            return False
    return adds_example and called == methods

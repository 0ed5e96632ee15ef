"""What docstrings name in this package is there."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import anyhook

SRC = Path(anyhook.__file__).parent


@cache
def trees():
    return {
        ".".join(("anyhook", *file.relative_to(SRC).with_suffix("").parts)).removesuffix(
            ".__init__"
        ): ast.parse(file.read_text("utf-8"))
        for file in SRC.rglob("*.py")
    }


@cache
def defined_in(node):
    """Return the names that a module or class defines, and those that methods set on `self`."""
    names = set()
    for each in ast.walk(node):
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(each.name)
        elif isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            names.add(each.id)
        elif isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store):
            names.add(each.attr)
        elif isinstance(each, ast.alias):
            names.add(each.asname or each.name)
    return names


@cache
def classes():
    """Return each class name with what the classes of that name, and their bases, define."""
    own, bases = {}, {}
    for tree in trees().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                own.setdefault(node.name, set()).update(defined_in(node))
                names = {getattr(base, "id", None) for base in node.bases}
                bases.setdefault(node.name, set()).update(names - {node.name})
    for name in own:
        waiting = list(bases[name])
        while waiting:
            base = waiting.pop()
            own[name] |= own.get(base, set())
            waiting += bases.get(base, ())
    return own


@cache
def is_there(reference):
    holder, _, name = reference.rpartition(".")
    if reference in trees():
        return True
    if holder in trees():
        return name in defined_in(trees()[holder])
    module, _, cls = holder.rpartition(".")
    if module and module not in trees():
        return not module.startswith("anyhook")
    return cls not in classes() or name in classes()[cls]


def references(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str):
            for text in re.findall(r"`([\w.]+)`", node.value.value):
                if text.startswith("anyhook.") or re.fullmatch(r"[A-Z]\w+\.[a-z]\w*", text):
                    yield node.lineno, text


@pytest.mark.slow
def test_every_name_in_a_docstring_is_there():
    missing = [
        (module, line, text)
        for module, tree in trees().items()
        for line, text in references(tree)
        if not is_there(text)
    ]

    assert missing == []

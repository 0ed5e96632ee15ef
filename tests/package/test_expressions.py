"""Regular expressions that are compiled at their first use."""

from __future__ import annotations

import importlib
import pickle
import pkgutil
import re

import pytest

from anyhook.expressions import expression

PACKAGES = ("checks", "matching", "secrets", "shell", "trust")


def constants():
    """Yield the name and the value of every late expression of a module."""
    late = type(expression("a"))
    for package in PACKAGES:
        root = importlib.import_module(f"anyhook.{package}")
        for info in pkgutil.iter_modules(root.__path__, f"{root.__name__}."):
            module = importlib.import_module(info.name)
            for name, value in vars(module).items():
                if isinstance(value, late):
                    yield f"{info.name}.{name}", value


def test_every_expression_of_a_module_can_be_compiled():
    patterns = {name: value.pattern for name, value in constants()}

    assert len(patterns) > 50
    assert all(isinstance(pattern, str) for pattern in patterns.values())


def test_an_expression_is_used_like_a_compiled_one():
    late = expression("a(b)?", re.IGNORECASE)

    assert late.fullmatch("AB")[1] == "B"
    assert [match.start() for match in late.finditer("xab a")] == [1, 4]
    assert pickle.loads(pickle.dumps(late)).sub("-", "ab") == "-"


def test_a_wrong_expression_is_an_error_at_its_first_use():
    late = expression("(")

    with pytest.raises(re.error):
        late.search("")

"""Names of the frameworks that they do not document and the integrations use: all of them are here.

A release that drops one makes a test fail, where the integration might only lose a guard.
"""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "anyhook" / "integrations"

MODULES = {
    "agents._public_agent": ("get_public_agent", "set_public_agent"),
    "agents.util._approvals": ("evaluate_function_tool_approval",),
}
"""Private module to what is imported from it."""
MEMBERS = {
    "agents:RunState": ("_current_agent", "_current_step"),
    "agents:RunResult": ("_starting_agent_for_state", "_last_agent"),
    "agents:RunResultStreaming": ("_state", "_starting_agent", "_cancel_mode"),
    "agents:Model": ("_cleanup_on_run_end",),
    "agents:FunctionTool": ("_mcp_tool_binding",),
}
"""Class to its private members."""
OWN = {"_is_hooked"}
"""Private members of copies that the integrations make."""


@pytest.mark.parametrize(("module", "names"), MODULES.items())
def test_private_modules_have_what_is_imported(module, names):
    for name in names:
        assert hasattr(importlib.import_module(module), name)


@pytest.mark.parametrize(("place", "names"), MEMBERS.items())
def test_classes_have_the_private_members(place, names):
    module, _, class_name = place.partition(":")
    owner = getattr(importlib.import_module(module), class_name)
    text = Path(importlib.import_module(owner.__module__).__file__).read_text(encoding="utf-8")

    for name in names:
        assert re.search(rf"\b{name}\b", text), name


def test_the_integrations_use_no_other_private_names():
    known = {name for names in (*MODULES.values(), *MEMBERS.values()) for name in names} | OWN
    used = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and "._" in (node.module or ""):
                used.add((str(path), node.module, node.module in MODULES))
            is_of_another = isinstance(node, ast.Attribute) and not (
                isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            )
            if is_of_another and node.attr.startswith("_") and not node.attr.startswith("__"):
                used.add((str(path), node.attr, node.attr in known))

    # `load` of the integrations sets a member of the object that it has made.
    unknown = [(path, name) for path, name, is_known in used if not is_known]
    assert [entry for entry in unknown if entry[1] != "_owns_engine"] == []

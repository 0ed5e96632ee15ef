"""Names of the frameworks that are private or looked up as a text: all of them are here.

A release that drops one makes a test fail, where the integration might only lose a guard.
"""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "anyhook" / "integrations"

ADK = {
    "google.adk.agents:LlmAgent": ("code_executor", "mode"),
    "google.genai.types:Tool": ("function_declarations",),
}
LANGCHAIN = {
    "langchain_core.tracers.event_stream:_AstreamEventsCallbackHandler": ("tap_output_aiter",),
    "langchain_core.callbacks:BaseCallbackManager": ("parent_run_id",),
    "langgraph.pregel._messages:StreamMessagesHandler": ("tap_output_aiter",),
    "langgraph.pregel._tools:StreamToolCallHandler": ("stream", "tap_output_aiter"),
}
OPENAI_AGENTS = {
    "agents._public_agent": ("get_public_agent", "set_public_agent"),
    "agents.util._approvals": ("evaluate_function_tool_approval",),
    "agents:FunctionTool": ("_mcp_tool_binding",),
    "agents:Model": ("_cleanup_on_run_end",),
    "agents:OpenAIResponsesModel": ("model",),
    "agents:RunResult": ("_last_agent", "_starting_agent_for_state"),
    "agents:RunResultStreaming": ("_cancel_mode", "_starting_agent", "_state", "current_agent"),
    "agents:RunState": ("_current_agent", "_current_step"),
    "agents:SQLiteSession": ("session_id",),
    "agents.run_internal.run_steps:NextStepInterruption": ("interruptions",),
    "openai.types.responses:ResponseCompletedEvent": ("response",),
    "openai.types.responses:ResponseOutputMessage": ("status",),
    "openai.types.responses:ResponseTextDeltaEvent": ("output_index",),
}
NAMES: dict[str, dict[str, tuple[str, ...]]] = {
    "adk": ADK,
    "langchain": LANGCHAIN,
    "openai_agents": OPENAI_AGENTS,
    "pydantic_ai": {},
    "claude_sdk": {},
}
"""Integration to its names, by the module or the class (`MODULE:CLASS`) that has them."""
FRAMEWORKS = {
    "adk": "google.adk",
    "langchain": "langchain",
    "openai_agents": "agents",
    "pydantic_ai": "pydantic_ai",
    "claude_sdk": "claude_agent_sdk",
}
OTHERS = {"_is_hooked", "_output", "_owns_engine", "aclose", "streaming"}
"""Names of the integrations themselves, of Python, and of the models of some providers."""


@pytest.mark.parametrize("integration", NAMES)
def test_the_framework_has_the_names(integration):
    pytest.importorskip(FRAMEWORKS[integration])

    for place, names in NAMES[integration].items():
        module, _, class_name = place.partition(":")
        owner = importlib.import_module(module)
        if class_name:
            owner = importlib.import_module(getattr(owner, class_name).__module__)
        text = Path(owner.__file__).read_text(encoding="utf-8")
        assert [name for name in names if not re.search(rf"\b{name}\b", text)] == [], place


@pytest.mark.parametrize("integration", NAMES)
def test_the_integration_uses_no_other_ones(integration):
    listed = {name for names in NAMES[integration].values() for name in names} | OTHERS
    used = set()
    for path in (SOURCE / integration).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            used |= set(names_in(node))

    assert used - listed == set()


def names_in(node):
    """Yield the private names in a node of a program, and those that are looked up as a text."""
    if isinstance(node, ast.ImportFrom) and "._" in (node.module or ""):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.Constant) and re.fullmatch(r"_[a-z]\w*", str(node.value)):
        yield node.value
    elif isinstance(node, ast.Attribute) and re.fullmatch(r"_[a-z]\w*", node.attr):
        if not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")):
            yield node.attr
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        is_look_up = node.func.id in ("getattr", "hasattr")
        if is_look_up and isinstance(node.args[1], ast.Constant):
            yield node.args[1].value

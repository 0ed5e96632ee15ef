"""Which tool of an agent is meant by a name that it does not have."""

from __future__ import annotations

import pytest

from anyhook.agents import CODING_AGENTS, NAMES, get_agent
from anyhook.agents.tool_names import counterpart_tool, suggest_tool
from anyhook.checks.rules import check_hooks
from tests.tables import each
from tests.world import World


@each(
    "agent, name, tool",
    [
        ("claude", "Shell", "Bash"),
        ("claude", "shell", "Bash"),
        ("claude", "run_shell_command", "Bash"),
        ("claude", "run_terminal_command", "Bash"),
        ("claude", "ReadFile", "Read"),
        ("claude", "Bsh", "Bash"),
        ("claude", "KillShel", "KillShell"),
        ("gemini", "Bash", "run_shell_command"),
        ("gemini", "read", "read_file"),
        ("cursor", "Bash", "Shell"),
        ("codex", "Shell", "Bash"),
        ("claude", "save_memory", None),
        ("claude", "zzzzzz", None),
    ],
)
def test_names_of_other_agents_come_before_similar_names(agent, name, tool):
    assert suggest_tool(get_agent(agent), name) == tool


def test_a_pattern_with_the_tool_of_another_agent_has_a_hint(tmp_path):
    world = World(tmp_path, agent="claude")
    hook = {"type": "command", "command": "true"}
    world.settings("user", {"hooks": {"PreToolUse": [{"matcher": "^Shell$", "hooks": [hook]}]}})
    engine = world.load()

    problems = check_hooks(engine)

    assert [problem.message for problem in problems] == [
        "PreToolUse: '^Shell$' hits no tool that Claude Code has (Shell is 'Bash' here)"
    ]


@pytest.mark.parametrize("name", CODING_AGENTS)
def test_a_suggested_tool_is_one_of_the_agent(name):
    agent = get_agent(name)

    for other in CODING_AGENTS:
        for tool in get_agent(other).tools:
            suggested = counterpart_tool(agent, tool)
            assert suggested is None or suggested in agent.tools, (other, tool)


@pytest.mark.parametrize("agent", NAMES)
def test_a_name_that_authors_write_by_mistake_stands_for_a_tool(agent):
    tables = get_agent(agent)
    tools = {name: counterpart_tool(tables, name) for name in tables.foreign_tools}

    assert {name: tool for name, tool in tools.items() if tool not in tables.tools} == {}

"""Functions for tools of MCP servers: they run for the names that each agent gives these tools."""

from __future__ import annotations

import pytest

from anyhook.agents import AGENTS, get_agent
from anyhook.agents.payloads import decode_event
from anyhook.authoring import Hooks, deny
from anyhook.matching.matchers import compile_matcher
from anyhook.model.tools import MCP_PREFIX
from anyhook.testing import make_payload, run_hook

FORMS = [form for name in AGENTS for form in (get_agent(name), *get_agent(name).forms.values())]
PATTERNS = ("mcp__github__create_issue", "mcp__github__*", "mcp__*", "mcp__*_issue", "mcp__git*")


def each_form(function):
    return pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name + form.form_name)(
        function
    )


def outcome(pattern, agent, tool):
    hooks = Hooks()
    hooks.before_tool(pattern)(lambda _event: deny("no"))
    return run_hook(hooks, "before_tool", agent=agent, tool=tool, input={}).outcome


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_function_for_an_mcp_tool_runs_in_every_agent(agent, pattern):
    assert outcome(pattern, agent, "mcp__github__create_issue") == "deny"


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("server", ["my-server", "my_server"])
def test_the_name_of_a_server_may_hold_the_separator(agent, server):
    assert outcome(f"mcp__{server}__make_it", agent, f"mcp__{server}__make_it") == "deny"
    assert outcome(f"mcp__{server}__*", agent, f"mcp__{server}__make_it") == "deny"


@pytest.mark.parametrize("agent", AGENTS)
def test_a_function_for_an_mcp_tool_does_not_run_for_another_one(agent):
    names_servers = "{server}" in get_agent(agent).vocabulary.mcp_name
    other_server = outcome("mcp__other__*", agent, "mcp__github__create_issue")

    assert outcome("mcp__github__other", agent, "mcp__github__create_issue") == "none"
    assert outcome("mcp__github__*", agent, "shell") == "none"
    # An agent that does not name the server may mean any.
    assert other_server == ("none" if names_servers else "deny")


@each_form
def test_an_agents_own_tools_are_not_tools_of_a_server(form):
    canonical = [form.vocabulary.tool(name) for name in form.tools]

    assert not any(name.startswith(MCP_PREFIX) for name in canonical)


@pytest.mark.parametrize("agent", AGENTS)
def test_an_mcp_tool_has_its_canonical_name_in_an_event(agent):
    payload = make_payload("before_tool", agent=agent, tool="mcp__github__create_issue", input={})
    event, _ = decode_event(get_agent(agent), payload)

    assert event.tool == event.call.tool
    assert event.tool in {"mcp__github__create_issue", "mcp____create_issue"}


@each_form
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_matcher_covers_what_the_function_covers(form, pattern):
    vocabulary = form.vocabulary
    names = [name.replace("*", ".*") for name in vocabulary.name_patterns(pattern)]
    matcher = compile_matcher(f"^(?:{'|'.join(names)})$", "expression")

    assert matcher.matches(vocabulary.name("mcp__github__create_issue"))
    assert not matcher.matches(vocabulary.name("shell"))

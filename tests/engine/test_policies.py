"""How the values of a field are combined: every rule set names policies that exist."""

from __future__ import annotations

import pytest

from anyhook import Answer, BeforeTool, Engine, SyncEngine
from anyhook.agents import AGENTS, get_agent
from anyhook.engine.policies import CHECKING_POLICIES, NAMED_POLICIES, POLICIES


def rule_sets():
    for name in AGENTS:
        agent = get_agent(name)
        yield from agent.rule_sets.values()
        for release in agent.older_releases:
            yield agent.rules(f"observed@{release}")


@pytest.mark.parametrize(
    "rules", list(rule_sets()), ids=lambda rules: f"{rules.release} {rules.name}"
)
def test_every_policy_that_a_rule_set_names_exists(rules):
    coercions = rules.loaded_coercions
    policies = {*CHECKING_POLICIES, *NAMED_POLICIES}
    policies |= set(coercions.policies if coercions else ())
    for spec in rules.events:
        assert set(spec.field_policies) <= set(POLICIES)
        assert set(spec.field_policies.values()) <= policies, spec.canonical


def test_a_policy_that_does_not_exist_is_an_error_and_not_a_lost_field(project):
    engine = Engine.load(project, agent="gemini", on_message=lambda _: None)
    events = [_with_unknown_policy(spec) for spec in engine.rules.events]
    engine.rules = engine.rules.replace(events=tuple(events))
    engine.register("BeforeTool", lambda _: Answer(tool_input={"path": "b"}))

    with SyncEngine(engine) as sync, pytest.raises(LookupError, match="no policy 'backwards'"):
        sync.dispatch(BeforeTool(tool_name="write_file", tool_input={"path": "a"}))


def _with_unknown_policy(spec):
    return spec.replace(field_policies={"tool_input": "backwards"})

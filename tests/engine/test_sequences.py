"""Agents that run all hooks of an event in order: what a hook sees, and what ends the sequence."""

from __future__ import annotations

import asyncio
import json
import shlex

from anyhook import AfterTool, BeforeTool, Engine
from anyhook.agents import get_agent
from anyhook.engine.plan import make_plan
from anyhook.model.answers import Outcome
from tests.world import World

CALL = {"tool_name": "Bash", "tool_input": {"command": "ls"}}


def one_sequence(**events):
    """Return the rules of an agent that runs everything in order."""
    rules = get_agent("claude").rules()
    specs = tuple(spec.replace(**events.get(spec.canonical, {})) for spec in rules.events)
    return rules.replace(sequence_scope="always", handler_identity="place", events=specs)


def load(tmp_path, event, *commands):
    world = World(tmp_path, agent="claude")
    hooks = [{"hooks": [{"type": "command", "command": line}]} for line in commands]
    world.settings("project", {"hooks": {event: hooks}})
    return world.load()


def say(reply, record=""):
    text = f"printf %s {shlex.quote(json.dumps(reply))}"
    return f"cat > {record}; {text}" if record else f"cat >/dev/null; {text}"


def permission(word, **members):
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": word,
            **members,
        }
    }


def statuses(engine: Engine, rules, event):
    engine.rules = rules
    decision = asyncio.run(engine.dispatch(event))
    return [str(result.status) for result in decision.results], decision


def test_hooks_of_all_definitions_run_in_one_sequence(tmp_path):
    engine = load(tmp_path, "PreToolUse", "echo a", "echo b")

    plan = make_plan(engine.agent, one_sequence(), engine.definitions, "before_tool", "Bash")

    assert [len(group) for group in plan.groups] == [2]


def test_each_of_two_hooks_with_the_same_command_runs(tmp_path):
    engine = load(tmp_path, "PreToolUse", "true", "true")

    seen, _ = statuses(engine, one_sequence(), BeforeTool(**CALL))

    assert seen == ["ran", "ran"]


def test_an_ask_can_end_a_sequence(tmp_path):
    rules = one_sequence(before_tool={"ending_outcomes": frozenset({Outcome.ASK})})
    engine = load(tmp_path, "PreToolUse", say(permission("ask")), say(permission("deny")))

    seen, decision = statuses(engine, rules, BeforeTool(**CALL))

    assert seen == ["ran", "skipped"]
    assert decision.outcome is Outcome.ASK


def test_no_verdict_need_end_a_sequence(tmp_path):
    rules = one_sequence(before_tool={"ending_outcomes": frozenset()})
    engine = load(tmp_path, "PreToolUse", say(permission("deny")), say(permission("allow")))

    seen, _ = statuses(engine, rules, BeforeTool(**CALL))

    assert seen == ["ran", "ran"]


def test_a_changed_result_is_what_the_next_hook_sees(tmp_path):
    rules = one_sequence(after_tool={"chained_fields": {"tool_output": "tool_response"}})
    record = tmp_path / "seen.json"
    output = {"hookEventName": "PostToolUse", "updatedToolOutput": {"stdout": "changed"}}
    engine = load(
        tmp_path,
        "PostToolUse",
        say({"hookSpecificOutput": output}),
        say({}, record=str(record)),
    )

    statuses(engine, rules, AfterTool(**CALL, tool_response={"stdout": "as it was"}))

    assert json.loads(record.read_text())["tool_response"] == {"stdout": "changed"}

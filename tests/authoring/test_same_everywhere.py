"""A hook file decides the same as a command of each agent, in an engine and in a test."""

from __future__ import annotations

import shlex
import sys

import pytest

from anyhook import BeforeTool, SyncEngine, ask, deny
from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.agents.output import decode_reply
from anyhook.authoring import stop
from anyhook.model.definitions import HandlerSpec, HookDefinition
from anyhook.model.diagnostics import Place
from anyhook.model.layers import Layer
from anyhook.testing import make_payload, run_hook
from tests.tables import fast_for

HEADER = """
from anyhook.authoring import Hooks, ask, context, deny, stop
hooks = Hooks({options})
"""
FOOTER = """
if __name__ == "__main__":
    hooks.run()
"""
REWRITES_AND_DENIES = """
@hooks.before_tool("shell")
def rewrite(event):
    return event.rewrite(command="rm -rf src")

@hooks.before_tool("shell")
def guard(event):
    return deny("rm") if event.runs("rm") else None
"""
DENIES_TWICE = """
@hooks.before_tool("shell")
def first(event):
    return deny("first")

@hooks.before_tool("shell")
def second(event):
    return deny("second")
"""
STOPS = """
@hooks.before_tool("shell")
def first(event):
    return stop("first")

@hooks.before_tool("shell")
def second(event):
    return deny("second")
"""
ANSWERS = {"rewrites": REWRITES_AND_DENIES, "denies": DENIES_TWICE, "stops": STOPS}
RULES = [
    (agent, rules)
    for agent in CODING_AGENTS
    for rules in ("documented", "observed")
    if rules == "documented" or get_agent(agent).observed is not None
]


@pytest.fixture
def hook_file(tmp_path):
    def write(body, name="hook.py", options=""):
        path = tmp_path / name
        path.write_text(HEADER.format(options=options) + body + FOOTER)
        return path

    return write


@pytest.fixture
def load(tmp_path):
    engines = []

    def load(agent, rules="documented"):
        engine = SyncEngine.load(
            tmp_path,
            agent=agent,
            rules=rules,
            home=tmp_path / "home",
            on_message=lambda _text: None,
        )
        engines.append(engine)
        return engine

    yield load
    for engine in engines:
        engine.close()


def call_of(engine, command="ls"):
    """Make a call of the agent's shell."""
    vocabulary = engine.engine.agent.vocabulary
    arguments = vocabulary.arguments("shell", {"command": command})
    return BeforeTool(tool_name=vocabulary.name("shell"), tool_input=arguments)


@pytest.mark.parametrize("body", ANSWERS)
@pytest.mark.parametrize("agent", CODING_AGENTS)
def test_a_file_decides_the_same_in_an_engine_as_in_a_test_and_as_a_command(
    hook_file, load, agent, body
):
    path = hook_file(ANSWERS[body])
    engine = load(agent)
    engine.engine.register_file(path)

    decision = engine.dispatch(call_of(engine))
    called = run_hook(path, "before_tool", agent=agent, tool="shell", input={"command": "ls"})
    command = run_hook(
        path, "before_tool", agent=agent, process=True, tool="shell", input={"command": "ls"}
    )

    assert called.answer == command.answer
    assert decision.denied
    assert decision.reason in {"rm", "first"}
    assert (command.answer.outcome == "deny" or command.answer.stop) is decision.denied


ASKS = """
@hooks.before_tool("shell")
def guard(event):
    return ask("really?")
"""


@pytest.mark.parametrize("agent", fast_for(CODING_AGENTS, "codex", "claude"))
def test_a_command_knows_the_agent_of_an_engine_that_sends_it_an_event(hook_file, load, agent):
    # The event of a host has no transcript, by whose path the agents are told apart.
    engine = load(agent)
    path = hook_file(ASKS)
    engine.engine.define(define_command(f"{shlex.quote(sys.executable)} {shlex.quote(str(path))}"))

    decision = engine.dispatch(call_of(engine))

    expected = run_hook(path, "before_tool", agent=agent, tool="shell", input={"command": "ls"})
    assert decision.outcome in ("ask", "deny")
    assert decision.outcome == expected.answer.outcome


def define_command(command):
    """Return a definition of a command on calls of tools."""
    place = Place("<test>")
    handler = HandlerSpec("command", Layer.RUNTIME, place, command=command)
    return HookDefinition("before_tool", Layer.RUNTIME, place, None, False, (handler,))


@pytest.mark.parametrize(("agent", "rules"), RULES)
def test_no_agent_changes_how_the_functions_of_a_file_run(hook_file, load, agent, rules):
    engine = load(agent, rules)
    engine.engine.register_file(hook_file(REWRITES_AND_DENIES))
    other = load(agent, rules)
    other.engine.register_file(hook_file(DENIES_TWICE, "other.py"))

    decision = engine.dispatch(call_of(engine))
    skipped = other.dispatch(call_of(other))

    assert decision.reason == "rm"
    assert [str(result.status) for result in decision.results] == ["ran", "ran"]
    assert [str(result.status) for result in skipped.results] == ["ran", "skipped"]


@pytest.mark.parametrize(("agent", "rules"), RULES)
def test_functions_of_the_same_name_all_run(hook_file, load, agent, rules):
    engine = load(agent, rules)
    silent = '\n@hooks.before_tool("shell")\ndef guard(event):\n    return None\n'
    engine.engine.register_file(hook_file(silent, "one.py"))
    engine.engine.register_file(hook_file(silent.replace("None", 'deny("two")'), "two.py"))
    host = load(agent, rules)
    host.engine.register("before_tool", lambda _event: None)
    host.engine.register("before_tool", lambda _event: deny("second"))

    assert engine.dispatch(call_of(engine)).reason == "two"
    assert host.dispatch(call_of(host)).reason == "second"


def test_the_functions_of_a_file_have_one_timeout(hook_file, load):
    body = """
import time

@hooks.before_tool("shell")
def slow(event):
    time.sleep(30)

@hooks.before_tool("shell")
def late(event):
    return deny("late")
"""
    path = hook_file(body, options="timeout=0.3")
    engine = load("claude")
    engine.engine.register_file(path)

    decision = engine.dispatch(call_of(engine))

    assert [str(result.status) for result in decision.results] == ["timed_out", "skipped"]
    assert not decision.denied
    assert run_hook(path, "before_tool", process=True, tool="shell", input={}).outcome == "none"


def test_a_function_has_the_time_that_those_before_it_left(hook_file, load):
    body = """
import time

@hooks.before_tool("shell")
def first(event):
    time.sleep(1.2)

@hooks.before_tool("shell")
def second(event):
    time.sleep(1.2)
"""
    engine = load("claude")
    engine.engine.register_file(hook_file(body, options="timeout=2"))

    first, second = engine.dispatch(call_of(engine)).results

    assert (str(first.status), str(second.status)) == ("ran", "timed_out")


def test_a_shadow_answers_nothing_in_a_test_as_in_an_agent(hook_file):
    path = hook_file(DENIES_TWICE, options="shadow=True")
    call = {"tool": "shell", "input": {"command": "ls"}}

    assert run_hook(path, "before_tool", **call).outcome == "none"
    assert run_hook(path, "before_tool", process=True, **call).outcome == "none"


@pytest.mark.parametrize("agent", CODING_AGENTS)
@pytest.mark.parametrize("verdict", ["allow()", "allow(approve=True)", 'ask("q")', 'context("c")'])
def test_no_verdict_of_a_file_makes_its_stop_let_the_call_run(hook_file, load, agent, verdict):
    body = f"""
from anyhook.authoring import allow

@hooks.before_tool("shell")
def first(event):
    return {verdict}

@hooks.before_tool("shell")
def second(event):
    return stop("end")
"""
    path = hook_file(body)
    engine = load(agent)
    engine.engine.register_file(path)
    spec = get_agent(agent).event("before_tool")
    call = call_of(engine)

    in_test = run_hook(path, "before_tool", agent=agent, tool="shell", input={"command": "ls"})
    decision = engine.dispatch(call)
    reply = engine.engine.reply(call, decision)
    rules, handler = get_agent(agent).documented, decision.results[0].handler
    read_back, _ = decode_reply(get_agent(agent), rules, spec, handler, reply)

    assert in_test.answer.outcome == "deny" or "stop" not in spec.implied_fields
    assert in_test.answer.outcome == "deny" or in_test.answer.stop
    assert read_back.outcome == "deny" or read_back.stop


@pytest.mark.parametrize("agent", CODING_AGENTS)
def test_the_reply_of_an_engine_keeps_a_question(load, agent):
    engine = load(agent)
    engine.engine.register("before_tool", lambda _event: ask("sure?"))
    call = call_of(engine)

    decision = engine.dispatch(call)
    reply = engine.engine.reply(call, decision)
    rules, spec = get_agent(agent).documented, get_agent(agent).event("before_tool")
    answer, _ = decode_reply(get_agent(agent), rules, spec, decision.results[0].handler, reply)

    assert answer.outcome in {"ask", "deny"}


@pytest.mark.parametrize(
    ("agent", "rules", "event"),
    [
        ("copilot", "documented", "permission_request"),
        ("terminai", "observed", "before_tool"),
        ("claude", "documented", "before_tool"),
    ],
)
def test_a_function_that_allows_cancels_no_question_of_its_file(
    hook_file, load, agent, rules, event
):
    body = f"""
from anyhook.authoring import allow

@hooks.{event}
def first(event):
    return ask("sure?")

@hooks.{event}
def second(event):
    return allow(approve=True)
"""
    engine = load(agent, rules)
    engine.engine.register_file(hook_file(body))
    payload = make_payload(event, agent=agent, tool="shell", input={"command": "ls"})

    decision = engine.dispatch(engine.engine.decode(payload)[0])

    assert decision.outcome == "ask"
    assert not decision.approve


@pytest.mark.parametrize("agent", CODING_AGENTS)
def test_the_reply_of_an_engine_keeps_a_stop_of_a_permission(hook_file, load, agent):
    if "permission_request" not in get_agent(agent).by_canonical:
        pytest.skip("the agent has no such event")
    engine = load(agent)
    engine.engine.register("permission_request", lambda _event: stop("end"))
    payload = make_payload("permission_request", agent=agent, tool="shell", input={"command": "ls"})
    event, _ = engine.engine.decode(payload)

    decision = engine.dispatch(event)
    reply = engine.engine.reply(event, decision)
    rules, spec = get_agent(agent).documented, get_agent(agent).event("permission_request")
    answer, _ = decode_reply(get_agent(agent), rules, spec, decision.results[0].handler, reply)

    assert answer.outcome == "deny" or answer.stop


def test_functions_of_another_module_belong_to_the_file_too(hook_file, load, tmp_path, monkeypatch):
    guard = 'from anyhook.authoring import deny\ndef guard(event):\n    return deny("rm")\n'
    (tmp_path / "shared_guard.py").write_text(guard)
    monkeypatch.syspath_prepend(tmp_path)
    body = """
from shared_guard import guard

hooks.before_tool("shell")(guard)

@hooks.before_tool("shell")
def never(event):
    return deny("never")
"""
    engine = load("gemini", "observed")
    engine.engine.register_file(hook_file(body))

    decision = engine.dispatch(call_of(engine))

    assert [str(result.status) for result in decision.results] == ["ran", "skipped"]

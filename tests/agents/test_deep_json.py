"""JSON of any depth and with numbers of any length, as an agent parses it, reaches the guards."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import textwrap

import pytest

from anyhook.model.json import DEPTH, parse_event, parse_json
from anyhook.testing import make_payload
from tests.server.test_serve import serving
from tests.world import World, command

GUARD = """
    from anyhook.authoring import Hooks, deny

    hooks = Hooks()

    @hooks.before_tool
    def guard(event):
        return deny("no") if "rm -rf" in event.text else None

    if __name__ == "__main__":
        hooks.run()
"""


def nested(levels):
    return "[" * levels + '"rm -rf"' + "]" * levels


ODD = {
    "900 deep": nested(900),
    "1,100 deep": nested(1100),
    "100,000 deep": nested(100_000),
    "4,400 digits": '"rm -rf", "y": ' + "1" * 4400,
}


@pytest.fixture(params=ODD.values(), ids=ODD)
def payload(request):
    """An event of Gemini CLI with an argument that is nested deep, or a long number."""
    event = make_payload("before_tool", agent="gemini", tool="shell", input={"x": 0})
    return json.dumps(event).replace('"x": 0', f'"x": {request.param}').encode()


@pytest.fixture
def hook_file(tmp_path):
    path = tmp_path / "guard.py"
    path.write_text(textwrap.dedent(GUARD), encoding="utf-8")
    return path


def run_with(payload, *argv):
    return subprocess.run(
        [sys.executable, *map(str, argv)], input=payload, capture_output=True, check=False
    )


@pytest.mark.parametrize("how", [[], ["-m", "anyhook", "run"]], ids=["file", "run"])
def test_a_hook_file_denies(hook_file, payload, how):
    done = run_with(payload, *how, hook_file)

    assert json.loads(done.stdout) == {"decision": "deny", "reason": "no"}, done.stderr
    assert done.returncode == 0


def test_a_hook_file_reports_what_it_is_not_shown(hook_file):
    event = make_payload("before_tool", agent="gemini", tool="shell", input={"x": 0})
    text = json.dumps(event).replace('"x": 0', f'"x": {nested(DEPTH)}')

    done = run_with(text.encode(), hook_file)

    assert json.loads(done.stdout)["decision"] == "deny"
    assert b"nested deeper than 200 levels" in done.stderr


@pytest.mark.parametrize(("on_crash", "code"), [("allow", 1), ("deny", 2)])
def test_a_payload_that_cannot_be_read_ends_as_the_author_said(hook_file, on_crash, code):
    text = hook_file.read_text(encoding="utf-8").replace("Hooks()", f"Hooks(on_crash={on_crash!r})")
    hook_file.write_text(text, encoding="utf-8")

    done = run_with(b'{"hook_event_name": ' + b"[" * 5000, hook_file)

    assert (done.returncode, done.stdout) == (code, b"")
    assert b"standard input holds no JSON object" in done.stderr


@pytest.mark.slow
def test_a_served_hook_denies(hook_file, payload):
    with serving(hook_file) as server:
        headers = {"content-type": "application/json"}
        response = server.client.post(server.url, content=payload, headers=headers)

    assert response.status_code == 200, response.text
    assert response.json() == {"decision": "deny", "reason": "no"}


@pytest.mark.slow
def test_fire_reads_the_event(world, run, payload, tmp_path):
    deny = {"type": "command", "name": "guard", "command": command({"exit": 2, "stderr": "no"})}
    world.settings("project", {"hooks": {"BeforeTool": [{"hooks": [deny]}]}})
    file = tmp_path / "event.json"
    file.write_bytes(payload)

    code, out, err = run(
        "fire", "--event-file", str(file), "--trust-once", "--exit-code", "--json", "--project", "."
    )

    assert code == 2, err
    assert json.loads(out)["decision"]["outcome"] == "deny"


@pytest.mark.parametrize("odd", [nested(1100), "1" * 5000], ids=["deep", "long"])
@pytest.mark.parametrize(
    ("agent", "event", "reply"),
    [
        ("gemini", "BeforeTool", '{"decision": "deny", "reason": "no", "x": ODD}'),
        ("gemini", "BeforeTool", '{"x": ODD, "decision": "deny", "reason": "no"}'),
        (
            "claude",
            "PreToolUse",
            (
                '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "x": ODD,'
                ' "permissionDecision": "deny", "permissionDecisionReason": "no"}}'
            ),
        ),
    ],
)
def test_a_reply_denies(tmp_path, agent, event, reply, odd):
    world = World(tmp_path, agent=agent)
    file = world.write(world.project / "reply.json", reply.replace("ODD", odd))
    hook = {"type": "command", "command": f"cat '{file}'"}
    world.settings("project", {"hooks": {event: [{"hooks": [hook]}]}})
    engine = world.load()

    event, _ = engine.decode(make_payload("before_tool", agent=agent, tool="shell", input={}))
    decision = asyncio.run(engine.dispatch(event))

    assert decision.denied
    assert decision.reason == "no"


def test_what_is_nested_too_deep_is_kept_as_text():
    value, change = parse_event('{"a": ' + nested(DEPTH) + ', "b": "]}"}')
    for _ in range(DEPTH - 2):
        value["a"] = value["a"][0]

    assert value == {"a": ['["rm -rf"]'], "b": "]}"}
    assert "200 levels" in change


def test_what_is_not_nested_too_deep_is_kept():
    text = '{"a": ' + nested(DEPTH - 1) + ', "many": [' + ", ".join(["{}"] * 300) + "]}"

    assert parse_event(text) == (json.loads(text), None)


@pytest.mark.parametrize(
    ("text", "value"),
    [("1" * 5000, float("inf")), ("-" + "1" * 5000, float("-inf")), ("9" * 400, int("9" * 400))],
)
def test_numbers_may_have_any_length(text, value):
    assert parse_json(text) == value


@pytest.mark.parametrize("text", ["NaN", "[" * 100_000, "[" * 300 + "x" + "]" * 300, '{"a": 1'])
def test_what_is_no_json_is_refused(text):
    with pytest.raises(ValueError, match=r"NaN|deep|Expecting"):
        parse_json(text)

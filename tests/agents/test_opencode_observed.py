"""What plugins did in the real OpenCode 1.18.33, done by hooks: the plugin in node, real commands.

`observed/opencode.json` has what each plugin did, the reply of a hook that means the same, and what
OpenCode did then: `ran` (the command that ran), `model` (the result that the model got), `parts`
(the texts of a prompt; `null` if it was refused), `permission` (the answer to a request).
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.agents.opencode import bus, run_plugin
from tests.world import World, command

CASES = json.loads((Path(__file__).parent / "observed" / "opencode.json").read_text("utf-8"))
COMMAND = "echo RAN > ran.txt; echo ran-output"
REFUSED = "error"


def hook_of(reply):
    """Return a handler that gives a reply: members of JSON, or how a command ends."""
    says = {key: reply[key] for key in ("exit", "stderr", "stdout") if key in reply}
    members = {key: value for key, value in reply.items() if key not in (*says, "sleep")}
    if members:
        says["stdout"] = members
    line = f"sleep {reply.get('sleep', 0)}; {command(says)}"
    return {"type": "command", "command": line}


def steps_of(given):
    """Return what OpenCode does in a case."""
    name = given["event"]
    session = "s2" if given.get("subagent") else "s1"
    ids = {"tool": given.get("tool", "bash"), "sessionID": session, "callID": "c1"}
    args = given.get("args", {"command": COMMAND, "description": "d"})
    part = {"type": "text", "id": "prt_1"}
    message = {"message": {"id": "m", "sessionID": session}, "parts": [{**part, "text": "go"}]}
    result = given.get("result", {"title": "t", "output": "ran-output\n", "metadata": {"exit": 0}})
    hooks = {
        "tool.execute.before": (ids, {"args": args}),
        "tool.execute.after": ({**ids, "args": args}, result),
        "chat.message": ({"sessionID": session}, message),
        "command.execute.before": (
            {"command": "foo", "sessionID": session, "arguments": "bar"},
            {"parts": [{"type": "text", "text": "Do the foo with bar"}]},
        ),
        "experimental.text.complete": ({"sessionID": session}, {"text": "t"}),
    }
    start = bus("session.created", session, info={"id": session, "parentID": "s1"})
    before = [start] if given.get("subagent") else []
    if name in hooks:
        step_input, output = hooks[name]
        return [*before, {"hook": name, "input": step_input, "output": output}]
    if name == "permission.asked":
        return [bus(name, id="per_1", permission="bash", patterns=[], metadata={}, always=[])]
    if name == "session.idle":
        ids, output = hooks["chat.message"]
        return [{"hook": "chat.message", "input": ids, "output": output}, bus(name)]
    return [bus(name, error={"name": "E", "data": {}})]


def effect_of(event, run):
    """Return what OpenCode makes of it: section by section of the table above."""
    last = run.last if any(run.results) else {}
    error, output = last.get(REFUSED), last.get("output", {})
    match event:
        case "tool.execute.before":
            return {"ran": None, "model": error} if error else {"ran": output["args"]["command"]}
        case "tool.execute.after":
            texts = [part["text"] for part in output.get("content", ())]
            return {"model": error or output.get("output") or "".join(texts)}
        case "chat.message" | "command.execute.before":
            return {"parts": None if error else [part["text"] for part in output["parts"]]}
        case "experimental.text.complete":
            return {"answer": output["text"]}
        case "permission.asked":
            answers = run.called("reply")
            return {"permission": answers[0]["body"]["reply"] if answers else None}
        case "session.idle":
            return {"continues": run.called("prompt") or None}
        case _:
            return {"notice": not run.called("abort")}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
@pytest.mark.parametrize("case", CASES, ids=[f"{case['id']}-{case['plugin']}" for case in CASES])
def test_a_hook_has_the_effect_that_was_observed(case, tmp_path):
    given = case["given"]
    world = World(tmp_path, agent="opencode")
    replies = given["reply"] if isinstance(given["reply"], list) else [given["reply"]]
    hooks = [hook_of(reply) for reply in replies]
    world.settings("project", {"hooks": {given["event"]: [{"hooks": hooks}]}})

    run = run_plugin(world, steps_of(given))

    assert effect_of(given["event"], run) == case["observed"]

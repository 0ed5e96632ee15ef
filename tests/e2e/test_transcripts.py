"""What a real agent sent to hooks, and what its transcript of the same session is read as."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections import defaultdict

import pytest

from anyhook.agents import get_agent
from anyhook.agents.payloads import decode_event
from anyhook.agents.program import Workplace, get_program
from anyhook.agents.transcripts import get_transcripts
from anyhook.probe.models.server import ModelScript, ModelTurn
from anyhook.probe.start import run_program
from tests.e2e.agents import PROBED, release_id

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120, func_only=True)]

EVENTS = (
    "session_start before_prompt before_tool after_tool post_tool_use_failure permission_denied "
    "after_agent subagent_start subagent_stop before_compress post_compact interrupt "
    "prompt_transformed session_end"
).split()
MARK = "the task of the subagent"

NOT_IN_THE_FILE = {
    "claude": {"session_end"},
    "gemini": {"session_end", "before_compress"},
    "qwen": {"session_end"},
}
"""Agent to events that its transcripts do not show."""


@pytest.fixture(scope="module", params=PROBED, ids=release_id)
def agent(request):
    return request.param.install()


def calls(agent, project):
    """Return calls that succeed, fail, are unknown, or have wrong arguments, in one agent's words.

    Two are in one answer.
    """
    program = agent.program
    notes = str(project / "notes.txt")

    def call(tool, **arguments):
        return program.model_call(agent.call(tool, **arguments))

    turns = [
        [call("shell", command="echo héllo"), call("shell", command="echo bad >&2; exit 3")],
        [("no_such_tool", {"a": 1})],
    ]
    vocabulary = get_agent(agent.name).vocabulary
    if agent.name == "codex":
        patch = "*** Begin Patch\n*** Add File: p.txt\n+hello\n*** End Patch"
        turns.append([("exec_command", {"cmd": f"apply_patch <<'EOF'\n{patch}\nEOF"})])
        return turns
    turns += [
        [call("write_file", file_path=str(project / "new.txt"), content="one\ntwo\n")],
        [call("edit_file", file_path=notes, old_string="nope", new_string="y")],
        [call("read_file", file_path=notes)],
        [call("read_file", file_path=str(project / "missing.txt"))],
        [(vocabulary.name("read_file"), {"wrong": "argument"})],
    ]
    return turns


@pytest.fixture
def session(agent, project, home, tmp_path):
    """Run the agent with a hook that records every payload; return them, and the home."""
    records = tmp_path / "records"
    records.mkdir()
    (project / "notes.txt").write_text("alpha\nbeta\n", encoding="utf-8")
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    command = f"cat > $(mktemp {shlex.quote(str(records))}/XXXXXXXX)"
    tables = get_agent(agent.name)
    handler = {"type": "command", "command": command}
    names = [tables.by_canonical[event].wire for event in EVENTS if event in tables.by_canonical]
    settings = {"hooks": {name: [{"hooks": [handler]}] for name in names}}
    if agent.name == "copilot":
        settings["version"] = 1
    path = project / agent.settings_path
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(settings), encoding="utf-8")
    program = get_program(agent.name)
    turns = [ModelTurn("I do it.", tools=tools) for tools in calls(agent, project)]
    subagent_turns = []
    if program.subagent_call is not None:
        turns.append(ModelTurn("I delegate it.", [program.subagent_call(MARK)]))
        shell = program.model_call(agent.shell("echo in-sub"))
        subagent_turns = [ModelTurn("I work.", [shell]), ModelTurn("the subagent is done")]
    script = ModelScript(
        [*turns, ModelTurn("That is all.")],
        subagent_turns,
        MARK if subagent_turns else "",
        ModelTurn("end"),
    )
    environ = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "SHELL": "/bin/sh"}
    run = run_program(
        program, agent.start(), Workplace(home, project, environ), script, "do it", seconds=90
    )
    assert not run.timed_out, run.stdout + run.stderr
    return [json.loads(file.read_text("utf-8")) for file in records.iterdir()]


def key_of(event):
    """Return by which fields an event of a session can be recognized."""
    fields = ("tool_input", "prompt", "source", "reason", "trigger", "transformed_prompt")
    fields += () if event.name != "after_agent" or event.prompt else ("prompt_response",)
    own = {name: getattr(event, name, None) for name in (*fields, "agent_id")}
    return event.name, getattr(event, "tool_name", None), json.dumps(own, sort_keys=True)


def test_the_transcript_gives_the_payloads_that_hooks_got(agent, session, home):
    tables = get_agent(agent.name)
    transcripts = get_transcripts(agent.name)
    problems = []
    events = [
        event
        for path in transcripts.find(home, {})
        for event in transcripts.read(path, problems.append)
    ]
    # A call of an unknown tool, or with wrong arguments, is in the file, and no hook got it.
    imported = [
        event for event in events if event.refusal is None or event.refusal.has_reached_hooks
    ]
    sent = [(decode_event(tables, payload)[0], payload) for payload in session]
    if agent.repeats_prompt:  # it sends an empty prompt with the results of each round of tools
        sent = [(event, p) for event, p in sent if event.name != "before_prompt" or event.prompt]
    hooked = defaultdict(list)
    for event, payload in sent:
        hooked[key_of(event)].append(payload)

    assert problems == []
    assert len({event.key for event in events}) == len(events)
    assert sorted(e.event for e in imported) == sorted(
        event.name for event, _ in sent if event.name not in NOT_IN_THE_FILE.get(agent.name, ())
    )
    for event in imported:
        key = key_of(decode_event(tables, event.payload)[0])
        assert hooked[key], (event, sorted(hooked))
        payload = hooked[key].pop()
        held = {
            name: value for name, value in event.payload.items() if name not in event.reconstructed
        }
        assert held == {name: payload.get(name) for name in held}

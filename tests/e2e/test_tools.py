"""What the commands promise about real agents: installed hooks guard, and predictions come true."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest

from anyhook import SyncEngine
from anyhook.agents import get_agent
from anyhook.probe.models.server import ModelTurn
from anyhook.testing import make_event
from tests.e2e.drive import run_agent

pytestmark = pytest.mark.timeout(60, func_only=True)

DENY = json.dumps({"decision": "deny", "reason": "not that"})
PERMISSION = json.dumps(
    {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": "not that",
        }
    }
)
BLOCK = json.dumps({"decision": "block", "reason": "not that"})
SAYS = {
    "silent-exit-2": "exit 2",
    "stderr-exit-2": "echo not that >&2; exit 2",
    "stderr-exit-3": "echo not that >&2; exit 3",
    "stderr-exit-1": "echo not that >&2; exit 1",
    "deny": f"echo '{DENY}'",
    "deny-exit-1": f"echo '{DENY}'; exit 1",
    "deny-exit-2": f"echo '{DENY}'; exit 2",
    "permission": f"echo '{PERMISSION}'",
    "permission-exit-1": f"echo '{PERMISSION}'; exit 1",
    "block": f"echo '{BLOCK}'",
    "empty-object-exit-2": "echo '{}'; exit 2",
    "allow-exit-2": """echo '{"decision": "allow"}'; exit 2""",
    "stop": """echo '{"continue": false, "stopReason": "enough"}'""",
    "null-exit-2": """echo '{"continue": null}'; echo not that >&2; exit 2""",
    "noise-before-json": f"echo noise; echo '{DENY}'",
    "list": f"echo '[{DENY}]'",
    "missing-command": "./nothing-here.sh",
    "killed": "kill -9 $$",
}


@pytest.mark.parametrize("says", SAYS)
def test_the_observed_rules_predict_the_agent(agent, project, home, says):
    path = project / "made.txt"
    turns = [ModelTurn("I write it.", tools=[agent.write(path, "text")]), ModelTurn("That is all.")]
    settings = agent.settings({"before_tool": SAYS[says]})
    run_agent(agent, project, home, turns, "do it", settings)
    with SyncEngine.load(
        project, agent=agent.name, rules=agent.rules, trust_once=True, home=home
    ) as engine:
        tool = {"tool": "write_file", "input": {"file_path": str(path), "content": "text"}}
        event = make_event("before_tool", agent=agent.name, **tool)
        decision = engine.dispatch(event.replace(cwd=str(project)))

    assert len(decision.results) == 1
    assert path.exists() is not decision.denied


def test_an_installed_hook_file_guards_the_agent(agent, project, home, hook_file):
    hook = hook_file("guard.py")
    inside = project / "hooks" / "my guard.py"
    inside.parent.mkdir()
    shutil.copy(hook, inside)
    subprocess.run(
        [
            *(sys.executable, "-m", "anyhook", "add", str(inside), "--project", str(project)),
            *("--agent", agent.name, "--python", sys.executable, "--yes"),
        ],
        check=True,
        capture_output=True,
    )
    path = project / "keys.py"
    turns = [
        ModelTurn("I write it.", tools=[agent.write(path, "KEY = 'AKIAIOSFODNN7EXAMPLE'\n")]),
        ModelTurn("That is all."),
    ]
    result = run_agent(agent, project, home, turns, "do it")

    assert not path.exists()
    [told] = result.tool_results()
    assert "that looks like an AWS key" in told


SKILL = "---\nallowed-tools: Bash(echo:*)\n---\nLook: !`echo from-the-skill`\n"
HELD = """echo '{"hookSpecificOutput": {"permissionDecision": "%s"}}'"""


@pytest.mark.parametrize(
    "says", ["exit 0", "exit 1", "exit 2", "echo text", *[HELD % word for word in ("deny", "ask")]]
)
def test_a_hook_guards_the_shell_commands_in_the_text_of_a_skill(agent, project, home, says):
    table = get_agent(agent.name).rules(agent.rules).by_canonical.get("pre_skill_shell_command")
    if table is None or not table.handler_kinds:
        pytest.skip("the release has no such event")
    skill = project / ".claude" / "commands" / "look.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(SKILL)
    handler = {"type": "command", "command": says}
    settings = {"hooks": {table.wire: [{"matcher": "Bash", "hooks": [handler]}]}}

    run = run_agent(agent, project, home, [ModelTurn("That is all.")], "/look", settings)
    with SyncEngine.load(
        project, agent=agent.name, rules=agent.rules, trust_once=True, home=home
    ) as engine:
        call = {"tool": "shell", "input": {"command": "echo from-the-skill"}}
        event = make_event(table.canonical, agent=agent.name, command_name="look", **call)
        decision = engine.dispatch(event.replace(cwd=str(project)))

    assert len(decision.results) == 1
    assert ("Look: from-the-skill" in run.heard(0)) is not decision.denied

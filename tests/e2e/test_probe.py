"""`anyhook probe` with real agents: hooks that work, and mistakes that it has to name."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import pytest

from anyhook.agents.codex.trust import hash_of, key_of
from anyhook.probe.plan import CallRequest
from anyhook.probe.probing import ProbeOptions, probe_in_sandbox
from anyhook.probe.report import ProbeVerdict
from anyhook.sandbox.sandbox import Sandbox
from anyhook.settings.sources import Location
from tests.e2e.agents import PROBED, release_id

pytestmark = pytest.mark.timeout(400, func_only=True)

SECONDS = 120.0
DENIES = "grep -q 'rm -rf' && { echo 'that removes files' >&2; exit 2; }; exit 0"
CLAUDE_REPLY = {
    "hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": "that removes files",
    }
}
GEMINI_REPLY = {"decision": "deny", "reason": "that removes files"}
COPILOT_REPLY = {
    "permissionDecision": "deny",
    "permissionDecisionReason": "that removes files",
}
REPLIES = {
    "claude": CLAUDE_REPLY,
    "codex": CLAUDE_REPLY,
    "copilot": COPILOT_REPLY,
    "gemini": GEMINI_REPLY,
    "qwen": CLAUDE_REPLY,
}
TOOLS = {
    "claude": "Bash",
    "codex": "Bash",
    "copilot": "bash",
    "gemini": "run_shell_command",
    "qwen": "run_shell_command",
}
"""The shell tool of each agent."""


@pytest.fixture(scope="module", params=PROBED, ids=release_id)
def agent(request):
    return request.param.install()


class Setup:
    """A project with hooks of one agent, and its user's home."""

    def __init__(self, agent, directory):
        self.agent = agent
        self.project = directory / "project"
        self.home = directory / "home"
        (self.project / "hooks").mkdir(parents=True)
        self.home.mkdir()
        self.hooks = {}
        self.environ = {"PATH": os.environ["PATH"]}

    def script(self, name, text, mode=0o755):
        path = self.project / "hooks" / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(mode)
        return f"./hooks/{name}"

    def add(self, event, command, matcher=None, **members):
        wire = self.agent.events.get(event, event)
        definition = {"hooks": [{"type": "command", "command": command, **members}]}
        if matcher is not None:
            definition["matcher"] = matcher
        self.hooks.setdefault(wire, []).append(definition)

    def write(self, text=None, where=None):
        path = self.project / (where or self.agent.settings_path)
        path.parent.mkdir(parents=True, exist_ok=True)
        version = {"version": 1} if self.agent.name == "copilot" else {}
        path.write_text(text or json.dumps({**version, "hooks": self.hooks}, indent=1))

    def trust(self):
        """Let the user have trusted the project and its hooks in the agent."""
        if self.agent.name == "codex":
            lines = [f'[projects."{self.project}"]', 'trust_level = "trusted"']
            file = self.project / self.agent.settings_path
            for event, definitions in self.hooks.items():
                for number, definition in enumerate(definitions):
                    key = key_of(str(file), event, number, 0)
                    lines.append(f"[hooks.state.{json.dumps(key)}]")
                    lines.append(f'trusted_hash = "{hash_of(event, definition, 0)}"')
            path = self.home / ".codex" / "config.toml"
            path.parent.mkdir()
            path.write_text("\n".join(lines) + "\n")
        self.environ |= TRUST

    def probe(self, *calls):
        program = self.agent.program
        place = Location.of(self.project, home=self.home, environ=self.environ)
        options = ProbeOptions(
            tuple(self.agent.start()), tuple(map(CallRequest.parse, calls)), SECONDS
        )
        with Sandbox.for_project(place.project, place) as sandbox:
            inside = place._replace(environ=sandbox.environ)
            return sandbox.run(probe_in_sandbox, inside, program.name, options)


TRUST = {
    "GEMINI_CLI_TRUST_WORKSPACE": "true",
    "GITHUB_COPILOT_PROMPT_MODE_REPO_HOOKS": "true",
}
"""Variables that trust every project, in agents that have one."""


def row(report, label):
    [found] = [hook for hook in report.hooks if hook.hook.label == label]
    return found


def reasons(report, label):
    return "\n".join(row(report, label).reasons)


def snapshot(directory):
    return {path: path.stat().st_mtime_ns for path in sorted(directory.rglob("*"))}


# -- a correct set-up


@pytest.fixture(scope="module")
def correct(agent, tmp_path_factory):
    setup = Setup(agent, tmp_path_factory.mktemp("correct"))
    setup.add("before_tool", setup.script("guard.sh", DENIES), TOOLS[agent.name])
    context = {"additionalContext": "this project speaks French"}
    event = "before_prompt"
    if agent.name == "copilot":
        event = "sessionStart"  # it reads no text on a prompt
    else:
        context = {"hookSpecificOutput": {"hookEventName": agent.events[event], **context}}
    setup.add(event, setup.script("teller.sh", f"echo {shlex.quote(json.dumps(context))}"))
    setup.add("after_tool", setup.script("watcher.sh", "cat > /dev/null"))
    setup.add("after_agent", setup.script("finisher.sh", "exit 0"))
    tool = json.dumps({"command": "echo x; rm -rf anyhook-probe/of-the-user"})
    setup.write()
    setup.trust()
    before = snapshot(setup.project), snapshot(setup.home)
    report = setup.probe(f"{TOOLS[agent.name]} {tool}")
    assert (snapshot(setup.project), snapshot(setup.home)) == before
    return report


def test_hooks_that_work_are_reported_as_working(correct):
    works = (ProbeVerdict.WORKS, ())
    labels = ("guard.sh", "teller.sh", "watcher.sh", "finisher.sh")
    results = {hook.hook.label: (hook.verdict, hook.reasons) for hook in correct.hooks}
    assert results == dict.fromkeys(labels, works)
    assert not correct.is_broken
    assert correct.problems == ()


def test_a_guard_denies_sample_calls_and_those_of_the_user_also_in_a_subagent(correct):
    guard = row(correct, "guard.sh")
    denied = {(seen.call.split(" ", 1)[1], seen.in_subagent) for seen in guard.observations
              if seen.denied}  # fmt: skip
    assert denied == {
        ("rm -rf anyhook-probe/remove", False),
        ("echo x; rm -rf anyhook-probe/of-the-user", False),
        ("rm -rf anyhook-probe/remove", True),
        ("echo x; rm -rf anyhook-probe/of-the-user", True),
    }
    assert guard.held() is True
    assert guard.held(in_subagent=True) is True
    assert guard.fired_in_subagent is True


def test_a_text_for_the_model_reaches_it(correct):
    assert row(correct, "teller.sh").context is True


# -- one script for several matchers, and rewritten calls


REWRITES = {
    "claude": {"hookEventName": "PreToolUse", "updatedInput": {"command": "echo safe"}},
    "codex": {
        "hookEventName": "PreToolUse",
        "permissionDecision": "allow",
        "updatedInput": {"command": "echo safe"},
    },
    "gemini": {"hookEventName": "BeforeTool", "tool_input": {"command": "echo safe"}},
    "qwen": {"hookEventName": "PreToolUse", "updatedInput": {"command": "echo safe"}},
}


def rewrite(agent):
    if agent.name == "copilot":
        return {"permissionDecision": "allow", "modifiedArgs": {"command": "echo safe"}}
    return {"hookSpecificOutput": REWRITES[agent.name]}


@pytest.fixture(scope="module")
def rewritten(agent, tmp_path_factory):
    setup = Setup(agent, tmp_path_factory.mktemp("rewritten"))
    reply = shlex.quote(json.dumps(rewrite(agent)))
    setup.add("before_tool", setup.script("rewrites.sh", f"echo {reply}"), TOOLS[agent.name])
    setup.add("after_tool", setup.script("watcher.sh", "cat > /dev/null"), TOOLS[agent.name])
    setup.add("after_tool", "./hooks/watcher.sh", "mcp__github__.*")
    setup.write()
    setup.trust()
    return setup.probe(TOOLS[agent.name] + ' {"command": "echo first"}')


def test_a_hook_after_a_rewritten_call_is_seen_to_run(rewritten):
    [watcher] = [hook for hook in rewritten.hooks if hook.hook.matcher == TOOLS[rewritten.name]
                 and hook.hook.label == "watcher.sh"]  # fmt: skip
    assert (watcher.verdict, watcher.reasons, watcher.fired) == (ProbeVerdict.WORKS, (), True)
    calls = [seen.call for seen in watcher.observations if not seen.in_subagent]
    assert calls == list(rewritten.calls)


def test_a_run_does_not_count_for_another_matcher_of_the_same_script(rewritten):
    [other] = [hook for hook in rewritten.hooks if hook.hook.matcher == "mcp__github__.*"]
    assert other.observations == ()
    assert (
        other.verdict is not ProbeVerdict.WORKS
    )  # where no tool can have such a name, it is broken


# -- mistakes


@pytest.fixture(scope="module")
def mistaken(agent, tmp_path_factory):
    setup = Setup(agent, tmp_path_factory.mktemp("mistaken"))
    shell = TOOLS[agent.name]
    own = shlex.quote(json.dumps(REPLIES[agent.name]))
    other = shlex.quote(json.dumps({"permission": "deny", "userMessage": "that removes files"}))
    if_rm = "grep -q 'rm -rf' || exit 0"
    setup.add("before_tool", setup.script("guard.sh", DENIES), shell)
    setup.add("before_tool", setup.script("one.sh", DENIES.replace("exit 2", "exit 1")), shell)
    setup.add("before_tool", setup.script("talks.sh", f"{if_rm}\necho checking\necho {own}"), shell)
    setup.add("before_tool", setup.script("shape.sh", f"{if_rm}\necho {other}"), shell)
    # Before a call, Gemini CLI denies it for them, and no other hook would see its result.
    setup.add("after_tool", setup.script("plain.sh", DENIES, mode=0o644), shell)
    setup.add("after_tool", "./hooks/absent.sh", shell)
    setup.add("before_tool", setup.script("dead.sh", DENIES), "NoSuchTool")
    setup.add("PreToolUze", setup.script("typo.sh", DENIES), shell)
    timeout = 3000 if agent.name == "gemini" else 3
    slow = setup.script("slow.sh", "sleep 40")
    setup.add("after_tool", slow, shell, timeout=timeout)
    setup.write()
    if agent.name != "copilot":  # it reads every file below its directory
        setup.write(where=Path(agent.settings_path).parent / "hooks" / "other.json")
    setup.trust()
    return setup.probe()


def test_a_good_guard_among_bad_ones_still_works(mistaken):
    assert row(mistaken, "guard.sh").verdict is ProbeVerdict.WORKS


SEQUENCE_ENDS = "a denial ends the hooks of an event, so the next ones do not get the call"
ANY_TOOL = "a server can have a tool of any name"
NOT_SEEN = {
    ("copilot", "one.sh"): SEQUENCE_ENDS,
    ("copilot", "talks.sh"): SEQUENCE_ENDS,
    ("copilot", "shape.sh"): SEQUENCE_ENDS,
    ("copilot", "dead.sh"): ANY_TOOL,
}
"""Mistakes that cannot be seen in an agent."""


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("one.sh", "exit code 2 blocks"),
        ("talks.sh", "talks.sh"),
        ("shape.sh", "permission"),
        ("plain.sh", "may not be executed"),
        ("absent.sh", "is not there"),
        ("dead.sh", "NoSuchTool"),
        ("typo.sh", "has no event 'PreToolUze'"),
        ("slow.sh", "killed it"),
    ],
)
def test_a_mistake_is_named(mistaken, label, text):
    if (mistaken.name, label) in NOT_SEEN:
        pytest.skip(NOT_SEEN[mistaken.name, label])
    assert row(mistaken, label).verdict is ProbeVerdict.BROKEN
    assert text in reasons(mistaken, label)


def test_hooks_in_a_file_that_the_agent_does_not_read_are_reported(mistaken):
    if mistaken.name == "copilot":
        pytest.skip("it reads every file below its directory")
    [problem] = mistaken.problems
    assert "other.json" in problem
    assert "does not read" in problem
    assert mistaken.is_broken


def test_a_project_that_the_user_has_not_trusted_in_the_agent_is_reported(agent, tmp_path):
    if agent.name in ("claude", "qwen"):
        pytest.skip("it trusts every project, as it is started here")
    setup = Setup(agent, tmp_path)
    setup.add("before_tool", setup.script("guard.sh", DENIES), TOOLS[agent.name])
    setup.write()
    report = setup.probe()
    assert report.is_broken
    assert "the project is not trusted in" in report.problems[0]
    assert row(report, "guard.sh").verdict is ProbeVerdict.WORKS
    if agent.name == "codex":
        assert "'guard.sh' on PreToolUse" in report.problems[1]
        assert "untrusted in Codex CLI" in report.problems[1]


def test_a_settings_file_that_is_no_json_is_reported(agent, tmp_path):
    setup = Setup(agent, tmp_path)
    setup.add("before_tool", setup.script("guard.sh", DENIES))
    setup.write(json.dumps({"hooks": setup.hooks})[:-1])
    report = setup.probe()
    assert report.is_broken
    assert any(agent.settings_path in problem for problem in report.problems)

"""Ways to switch guards off, which a scripted model tries in real agents under `own-hooks`."""

from __future__ import annotations

import pytest

from anyhook.probe.models.server import ModelTurn
from anyhook.testing import load_hooks, make_event
from anyhook.trust.changes import changes_to_review
from tests.e2e.agents import DRIVEN, release_id
from tests.e2e.drive import run_agent
from tests.guards.test_ways_to_switch_guards_off import WAYS

pytestmark = pytest.mark.timeout(600, func_only=True)

IN_EVERY_AGENT = [
    "cp /dev/null .anyhook/guard-git.py",
    "chmod 000 .anyhook/guard-git.py",
    "python3 -c \"import os; os.remove('.anyhook/guard-git.py')\"",
    "find .anyhook -name '*.py' -delete",
    "anyhook remove git --yes",
]
CALLS_OF_A_RUN = 10


@pytest.fixture(scope="session", params=DRIVEN, ids=release_id)
def agent(request):
    """Every program that can be driven."""
    return request.param.install()


def guarding_files(project):
    """Return the files of guards and of settings with what they hold."""
    directories = (".anyhook", ".claude", ".codex", ".gemini", ".git/hooks", ".github", ".opencode")
    paths = [path for name in directories for path in (project / name).rglob("*")]
    files = [path for path in [*paths, project / ".git" / "config"] if path.is_file()]
    return {path: (path.stat().st_mode, path.read_bytes()) for path in files}


def changed_files(project, before):
    """Return which files are not as they were; agents add files of their own."""
    now = guarding_files(project)
    return [str(path) for path, content in before.items() if now.get(path) != content]


@pytest.fixture
def guarded(agent, project, add_guards):
    """A project of the user with the guard; returns what the guard says to a command."""
    add_guards("own-hooks", "git")
    hooks = load_hooks(project / ".anyhook" / "guard-own-hooks.py")

    def decide(command):
        event = make_event(
            "before_tool",
            agent=agent.name,
            tool="shell",
            input={"command": command},
            cwd=str(project),
        )
        return str(hooks.answer(event).outcome)

    return decide


REASONS = ("guard", "throws away changes")
"""Words of the reasons of both guards; which of two denials an agent shows is not fixed."""


def test_what_the_guard_denies_is_not_run(agent, project, home, guarded):
    ways = WAYS if agent.name == "claude" else IN_EVERY_AGENT
    denied = [way for way in ways if guarded(way) == "deny"]
    before = guarding_files(project)

    for start in range(0, len(denied), CALLS_OF_A_RUN):
        tried = denied[start : start + CALLS_OF_A_RUN]
        turns = [ModelTurn("I do it.", tools=[agent.shell(way)]) for way in tried]
        result = run_agent(agent, project, home, [*turns, ModelTurn("That is all.")], "do it")
        answers = result.tool_results()
        assert len(answers) == len(tried), (result.stdout, result.stderr)
        passed = {
            way: answer
            for way, answer in zip(tried, answers, strict=True)
            if not any(words in answer for words in REASONS)
        }
        assert not passed

    assert changed_files(project, before) == []


def test_what_the_guard_asks_about_is_not_run_or_reported(agent, project, home, guarded):
    """Agents that were started to ask no questions run what a hook asks about."""
    ways = WAYS if agent.name == "claude" else IN_EVERY_AGENT
    asked = [way for way in ways if guarded(way) == "ask"]
    before = guarding_files(project)

    for way in asked:
        turns = [ModelTurn("I do it.", tools=[agent.shell(way)]), ModelTurn("That is all.")]
        run_agent(agent, project, home, turns, "do it")

    reported = {change.file for change in changes_to_review(project)}
    assert set(changed_files(project, before)) <= reported

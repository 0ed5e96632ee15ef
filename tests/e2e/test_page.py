"""Claude Code while it is recorded, and the page in Chromium, which shows it as it happens."""

from __future__ import annotations

import json
import re
import shlex

import pytest

from anyhook.cli import OK, main
from anyhook.probe.models.server import ModelTurn
from tests.e2e.agents import AGENTS, release_id
from tests.e2e.drive import run_agent
from tests.page.browser import needs_chromium, start_chromium
from tests.page.serving import Command

pytestmark = [pytest.mark.timeout(180, func_only=True), needs_chromium]
CLAUDE = [agent for agent in AGENTS if agent.name == "claude"][-1:]
GUARD = """#!/bin/sh
if grep -q 'rm -rf'; then
  echo 'no trees are removed here' >&2
  exit 2
fi
"""


@pytest.fixture(params=CLAUDE, ids=release_id)
def claude(request):
    """Claude Code."""
    return request.param.install()


@pytest.fixture
def served(home, project, monkeypatch):
    """The page of the history that the agent's home holds."""
    monkeypatch.setenv("HOME", str(home))
    for name in ("ANYHOOK_DATA_DIR", "XDG_DATA_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(project)
    page = Command(project)
    yield page
    page.close()


@pytest.fixture
def open_page(served):
    """Open views of the page in a browser; a view that is loaded again fails the test."""
    with start_chromium() as browser:
        context = browser.new_context()
        context.new_page().goto(served.first)

        def call(path):
            page = context.new_page()
            page.goto(served.url + path)
            page.wait_for_selector(".live-state.open")
            page.evaluate("window.isTheSame = true")
            return page

        yield call
        context.close()


def test_a_session_of_claude_code_appears_with_its_denial_and_who_denied(
    claude, open_page, project, home
):
    guard = project / "guard.sh"
    guard.write_text(GUARD)
    settings = claude.settings({"before_tool": f"sh {shlex.quote(str(guard))}"})
    path = project / claude.settings_path
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(settings))
    assert main(["history", "record", "on", "--agent", "claude", "--tap", "--yes"]) == OK
    (project / "build").mkdir()
    turns = [
        ModelTurn("I list it.", tools=[claude.shell("ls -a")]),
        ModelTurn("I remove it.", tools=[claude.shell("rm -rf build")]),
        ModelTurn("It may not be removed."),
    ]
    page = open_page("/")

    run = run_agent(claude, project, home, turns, "clean up")

    assert run.exit_code == 0
    assert (project / "build").is_dir()
    denied = page.wait_for_selector("#feed .event.deny")
    assert "rm -rf build" in denied.inner_text()
    assert "no trees are removed here" in denied.inner_text()
    assert re.search(r"by\s+guard\.sh", denied.inner_text())
    page.locator("#feed .event", has_text="ls -a").first.wait_for()
    page.locator("#feed .event", has_text="clean up").first.wait_for()
    assert "Claude Code" in page.locator("#sessions").inner_text()
    assert page.evaluate("window.isTheSame")

    session = page.locator("#sessions a").first.get_attribute("href")
    of_session = open_page(session)
    assert of_session.locator("#feed .event.deny").count() == 1
    run_agent(claude, project, home, turns[:1] + turns[2:], "once more")
    page.locator("#feed .event", has_text="once more").first.wait_for()
    assert of_session.locator("#feed .event", has_text="once more").count() == 0

    page.locator("#feed .event.deny .subject a").first.click()
    decision = page.get_by_label("Fields of the decision").inner_text()
    assert "no trees are removed here" in decision
    assert "guard.sh" in decision

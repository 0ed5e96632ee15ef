"""The panel labels past calls that a hook would have stopped."""

from __future__ import annotations

import json

import pytest

from anyhook.cli.panel.console_view import ChoiceList
from anyhook.history.events import RecordedEvent
from anyhook.history.store import History
from anyhook.manage.review import own_set
from anyhook.redteam.labelled import BENIGN, DANGEROUS, read_set
from anyhook.testing import make_payload
from tests.cli.panel.driver import in_loop, panel

GUARD = """
from anyhook.authoring import Hooks, ask, deny

hooks = Hooks()
{about}


@hooks.before_tool
def guard(event):
    if "push --force" in event.text:
        return deny("no force")
    if "reset" in event.text or event.tool == "read_file":
        return ask("sure?")


if __name__ == "__main__":
    hooks.run()
"""
ABOUT = 'hooks.about(families=["git"])'


def past(number, tool, **arguments):
    payload = make_payload("before_tool", agent="gemini", tool=tool, input=arguments)
    return RecordedEvent("gemini", "s", "before_tool", 1.7e9 + number, payload, "import", tool=tool)


@pytest.fixture
def configured(world):
    """A hook file of the user, another hook of theirs, and past calls."""
    guard = world.write(world.project / "guard.py", GUARD.format(about=ABOUT))
    command = [{"type": "command", "command": f"anyhook run {guard}"}]
    other = [{"type": "command", "name": "greet", "command": "echo hello"}]
    world.settings(
        "user", {"hooks": {"BeforeTool": [{"hooks": command}], "SessionStart": [{"hooks": other}]}}
    )
    with History.open() as history:
        history.add(
            [
                past(1, "shell", command="git push --force"),
                past(2, "shell", command="git push --force"),
                # JSON leaves the separator of lines in it as it is.
                past(3, "shell", command="git push --force a\u2028b"),
                past(4, "shell", command="git reset a"),
                past(5, "read_file", file_path="notes.txt"),
                past(6, "shell", command="ls"),
            ]
        )
    return world


@pytest.mark.slow
def test_one_key_labels_a_group_of_past_calls(configured, run):
    @in_loop
    async def label():
        async with panel() as driver:
            await driver.select("guard.py")
            await driver.press("l")
            await driver.shows("would have stopped 5 of 6 calls", "3  deny  no force")
            await driver.shows("2  ask  sure?", "git push --force a", "2 times")
            await driver.press("b")
            await driver.shows("2 calls: benign", f"$ anyhook score {name} --on")
            await driver.press("down", "b")
            await driver.shows("benign          2  ask")
            await driver.press("up", "d")
            await driver.shows("dangerous       3  deny")

    @in_loop
    async def look_again():
        async with panel() as driver:
            await driver.select("guard.py")
            await driver.press("l")
            await driver.shows("dangerous       3  deny", "benign          2  ask")

    name = "guard.py"
    label()
    look_again()

    calls = {(call.text, call.label, call.families) for call in read_set(own_set()).calls}
    event = {"event": "before_tool", "tool": "read_file", "input": {"file_path": "notes.txt"}}
    assert calls == {
        ("git push --force", DANGEROUS, ("git",)),
        ("git push --force a\u2028b", DANGEROUS, ("git",)),
        ("git reset a", BENIGN, ()),
        (json.dumps(event), BENIGN, ()),
    }
    code, out, _ = run("score", "guard.py", "--on", str(own_set()), "--json")
    (git,) = json.loads(out)["scores"][0]["families"]
    assert (code, git["detection"]["denied"], git["false_blocks"]["asked"]) == (0, 2, 2)


@pytest.mark.slow
@in_loop
async def test_lines_that_are_shown_anew_keep_the_selected_one(configured):
    async with panel() as driver:
        await driver.select("guard.py")
        await driver.press("l")
        await driver.shows("3  deny  no force", "2  ask  sure?")
        screen = driver.app.screen
        screen.query_one(ChoiceList).highlighted = 1
        screen.show_items(screen._items)  # before the message of the selection was handled
        assert screen.current() is screen._items[1]


@pytest.mark.slow
@in_loop
async def test_a_label_needs_kinds_of_danger(configured):
    configured.write(configured.project / "guard.py", GUARD.format(about=""))
    async with panel() as driver:
        await driver.select("guard.py")
        await driver.press("l")
        await driver.shows("would have stopped 5 of 6 calls")
        await driver.press("d")
        await driver.shows('hooks.about(families=["git"])')
        assert not own_set().exists()


@pytest.mark.slow
@in_loop
async def test_hooks_that_cannot_be_asked_say_why(configured):
    configured.settings(
        "project:gemini",
        {"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "true"}]}]}},
    )
    async with panel() as driver:
        await driver.select("greet")
        await driver.press("l")
        await driver.shows("greet is off, or decides no calls of tools")
        await driver.select("true")
        await driver.press("l")
        await driver.shows("you have not trusted true; t reviews it")

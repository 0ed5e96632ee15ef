"""Texts of strangers never reach the terminal as they are, whatever shows them."""

from __future__ import annotations

import json
import time

import pytest

from anyhook.history.events import RecordedEvent, RecordedResult
from anyhook.history.store import History
from anyhook.journal.lines import history_directory
from tests.cli.panel.driver import in_loop, panel
from tests.tables import fast_for

EVIL = "x\x1b[2J\x1b]0;title\x07\x00\x7f\x9b31m\u202egnp\u200b\rend"
FORBIDDEN = set("\x1b\x07\x00\x7f\x9b\u202e\u200b\r")
EVENTS = {"gemini": "BeforeTool", "claude": "PreToolUse"}


def hostile_settings(agent):
    hook = {
        "type": "command",
        "name": EVIL,
        "command": f"echo '{EVIL}' >&2; exit 1".replace("\x00", ""),
        "description": EVIL,
        "env": {EVIL: EVIL},
        EVIL: EVIL,
    }
    definitions = [{"matcher": EVIL, "hooks": [hook], EVIL: 1}, {"matcher": "*", "hooks": [hook]}]
    return {"hooks": {EVENTS[agent]: definitions, EVIL: definitions}, "env": {EVIL: EVIL}}


def hostile_event(source, number):
    results = [
        RecordedResult(
            EVIL,
            place=f"{EVIL}:1",
            status=status,
            answer={"outcome": "deny", "reason": EVIL},
            stdout=EVIL,
            stderr=EVIL,
            error=EVIL,
            duration=0.1,
        )
        for status in ("ran", "failed")
    ]
    return RecordedEvent(
        "gemini",
        session=f"s{EVIL}",
        event="before_tool",
        time=time.time() - 60 + number,
        payload={"tool_name": EVIL, "tool_input": {EVIL: EVIL, "command": EVIL}, "cwd": EVIL},
        source=source,
        project=f"/{EVIL}",
        tool=EVIL,
        decision={"outcome": "deny", "reason": EVIL, "user_messages": [EVIL]},
        results=tuple(results),
    )


@pytest.fixture
def hostile(world):
    """A project and a history in which every name and text is hostile."""
    for agent in EVENTS:
        path = world.project / f".{agent}" / "settings.json"
        world.write(path, json.dumps(hostile_settings(agent)))
    with History.open(history_directory()) as history:
        history.add([hostile_event(source, n) for n, source in enumerate(("engine", "hook"))])
    return world


LINES = [
    "list",
    "check",
    "check --strict",
    "check --format github",
    "check --format sarif",
    "trust --show",
    "fire BeforeTool --agent gemini --tool " + "T",
    "fire PreToolUse --agent claude --tool T",
    "migrate --from claude --to gemini --dry-run",
    "migrate --from gemini --to codex --dry-run",
    "disable T --dry-run",
    "shadow T",
    "enable T --dry-run",
    "agents",
    "worker doctor",
    "history record status",
    "agents capabilities",
    "agents schema BeforeTool --agent gemini",
    "history",
    "history show last --all",
    "history show last --event 1",
    "history search gnp",
    "history search --tool T",
    "history search --hook T",
    "history search --failed",
    "history stats",
    "history status",
    "history replay last --hook T",
]


@pytest.mark.parametrize("is_trusted", fast_for([True, False]))
@pytest.mark.parametrize("form", ["", "--json"])
@pytest.mark.parametrize("line", LINES)
def test_no_command_prints_an_invisible_character(hostile, run, line, form, is_trusted):
    if is_trusted:
        run("trust", "--yes")
    words = [EVIL if word == "T" else word for word in line.split()]

    _, out, err = run(*words, *([form] if form else []))

    assert not FORBIDDEN & set(out + err)
    if form and out.startswith("{"):
        assert json.loads(out)


@pytest.mark.slow
@pytest.mark.parametrize("agent", EVENTS)
def test_no_screen_of_the_panel_draws_an_invisible_character(hostile, run, agent):
    run("trust", "--yes")

    @in_loop
    async def walk():
        async with panel(size=(120, 40)) as driver:
            await driver.until(lambda: "gnp" in driver.text)
            for number in range(3):
                for key in ("enter", "escape", "t", "escape", "p", "escape", "s", "escape", "f"):
                    await driver.press(key)
                    await driver.pilot.pause(0.05)
                    assert not FORBIDDEN & set(driver.text), (number, key)
                await driver.press("enter")
                await driver.pilot.pause(0.05)
                assert not FORBIDDEN & set(driver.text), number
                await driver.press("escape", "down")

    walk()


@pytest.mark.slow
def test_a_field_of_the_panel_shows_a_mark_for_an_invisible_character(world):
    hook = {"type": "command", "command": "true"}
    definition = {"matcher": "a\x1b]0;t\u202eb", "hooks": [hook]}
    world.settings("user", {"hooks": {"BeforeTool": [definition]}})

    @in_loop
    async def fire():
        async with panel(size=(120, 40)) as driver:
            await driver.press("f")
            await driver.shows("a\ufffd]0;t\ufffdb")

    fire()

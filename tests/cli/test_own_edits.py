"""A user who edits a hook of their own accepts the edit with one key."""

from __future__ import annotations

import pytest

from anyhook import TrustStore
from tests.answering import answer

DENY = "echo {reason} >&2; exit 2\n"
FIRE = ["fire", "BeforeTool", "--tool", "write_file"]


@pytest.fixture
def edited(world):
    """Return a project whose trusted hook was edited."""
    script = world.write(
        world.project / ".gemini" / "hooks" / "guard.sh", DENY.format(reason="old")
    )
    hook = {"type": "command", "command": "sh .gemini/hooks/guard.sh"}
    world.settings("project", {"hooks": {"BeforeTool": [{"hooks": [hook]}]}})
    store = TrustStore(world.root / "data" / "trust")
    store.trust(world.project, world.load(trust_store=store).guard.subjects(), agent="gemini")
    world.write(script, DENY.format(reason="edited"))
    return world


def answer_on_terminal(world, arguments, key, **variables):
    """Run anyhook in a terminal of its own, press a key, and return what it printed."""
    environ = {**world.environ, "ANYHOOK_DATA_DIR": str(world.root / "data"), "COLUMNS": "120"}
    environ |= {"TERM": "dumb", **variables}
    words = [*arguments, "--project", str(world.project)]
    return answer(words, key, cwd=world.project, environ=environ)[1]


@pytest.mark.slow
def test_fire_shows_the_difference_and_accepts_it_with_one_key(edited):
    output = answer_on_terminal(edited, FIRE, b"y")

    assert "-echo old" in output
    assert "+echo edited" in output
    assert "Did you make these changes" in output
    assert "not trusted" not in output.partition("Did you make")[2]
    assert "Did you make" not in answer_on_terminal(edited, FIRE, b"n")


@pytest.mark.slow
def test_another_key_accepts_nothing(edited):
    output = answer_on_terminal(edited, FIRE, b"n")

    assert "not trusted" in output.partition("Did you make")[2]


@pytest.mark.slow
@pytest.mark.parametrize("variable", ["CLAUDECODE", "GEMINI_CLI", "CURSOR_AGENT"])
def test_a_process_that_an_agent_started_is_not_asked(edited, variable):
    output = answer_on_terminal(edited, FIRE, b"y", **{variable: "1"})

    assert "Did you make" not in output
    assert "not trusted" in output


@pytest.mark.slow
def test_a_changed_definition_is_not_accepted_with_one_key(edited):
    hook = {"type": "command", "command": "sh .gemini/hooks/guard.sh", "timeout": 1_000}
    edited.settings("project", {"hooks": {"BeforeTool": [{"hooks": [hook]}]}})

    output = answer_on_terminal(edited, FIRE, b"y")

    assert "Did you make" not in output
    assert "not trusted" in output

"""Command lines of hooks, run by their shell through the engine."""

from __future__ import annotations

import pytest

from anyhook import BeforeTool

WRITE = BeforeTool(tool_name="write_file", tool_input={"file_path": "a.txt"})
pytestmark = pytest.mark.anyio


@pytest.fixture
def dispatch(world):
    """Dispatch an event to one hook."""

    async def fire(line, **options):
        entry = {"hooks": [{"type": "command", "command": line, **options}]}
        world.settings("project", {"hooks": {"BeforeTool": [entry]}})
        return await world.load().dispatch(WRITE)

    return fire


async def test_a_variable_in_quotes_is_one_word(world, dispatch):
    world.write(world.project / "check me.sh", "#!/bin/sh\necho no >&2\nexit 2\n")

    decision = await dispatch('"$GEMINI_PROJECT_DIR"/check\\ me.sh --flag')

    assert (decision.denied, decision.reason) == (True, "no")


async def test_a_result_shows_the_line_as_it_is_written(world, dispatch):
    world.write(world.project / "check.sh", "#!/bin/sh\n")
    line = '"$GEMINI_PROJECT_DIR"/check.sh'

    handler = (await dispatch(line)).results[0].handler

    assert (handler.command, handler.label) == (line, "check.sh")


async def test_a_script_without_an_interpreter_runs_in_the_shell(world, dispatch):
    script = world.write(world.project / "check.sh", '[ "$1" = "a b" ] && exit 2\n')
    script.chmod(0o755)

    assert (await dispatch("./check.sh 'a b'")).denied
    assert not (await dispatch("./check.sh a b")).denied


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("./lost.sh", 127, "./lost.sh"),
        ("./none", 127, "No such file or directory"),
        ("./plain.txt", 126, "Permission denied"),
        ("./directory", 126, "Is a directory"),
        ("no-such-program-here", 127, "command not found"),
    ],
)
async def test_the_shell_reports_what_cannot_be_started(world, dispatch, line, code, message):
    world.write(world.project / "lost.sh", "#!/no/such/interpreter\n")
    world.write(world.project / "plain.txt", "x")
    (world.project / "directory").mkdir()

    result = (await dispatch(line)).results[0]

    assert result.exit_code == code
    assert message in result.stderr


async def test_a_program_that_the_shell_becomes_is_ended_at_its_timeout(dispatch):
    result = (await dispatch("sleep 60", timeout=100)).results[0]

    assert result.status.name == "TIMED_OUT"
    assert result.signal == "SIGTERM"

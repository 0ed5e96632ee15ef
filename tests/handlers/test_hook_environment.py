"""Variables that would keep the shell of a hook from doing what its line says."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from anyhook import BeforeTool
from anyhook.checks.rules import check_hooks
from anyhook.testing import make_payload
from tests.world import World

pytestmark = pytest.mark.anyio
WRITE = BeforeTool(tool_name="write_file", tool_input={"content": "x"})
GUARD = "echo no >&2; exit 2"
HOSTILE = {
    "nothing is run": {"SHELLOPTS": "noexec"},
    "options of bash": {"BASHOPTS": "extdebug"},
    "another exit": {"BASH_FUNC_exit%%": "() { builtin exit 0; }"},
    "another echo and exit": {
        "BASH_FUNC_echo%%": "() { :; }",
        "BASH_FUNC_exit%%": "() { builtin exit 0; }",
    },
    "programs are not found": {"EXECIGNORE": "*"},
    "a file that is read first": {"BASH_ENV": "{root}/first"},
    "a file that sh reads first": {"ENV": "{root}/first"},
}


@pytest.fixture
def world(tmp_path):
    world = World(tmp_path)
    world.write(tmp_path / "first", "exit 0")
    return world


def configure(world, env=None, line=GUARD, layer="user"):
    handler = {"type": "command", "name": "guard", "command": line}
    if env is not None:
        handler["env"] = env
    world.settings(layer, {"hooks": {"BeforeTool": [{"hooks": [handler]}]}})


def hostile(world, which):
    return {name: text.replace("{root}", str(world.root)) for name, text in HOSTILE[which].items()}


async def decide(world, **options):
    async with world.load(**options) as engine:
        return await engine.dispatch(WRITE)


@pytest.mark.parametrize("line", [GUARD, "bash -c 'echo no >&2; exit 2'"])
@pytest.mark.parametrize("which", HOSTILE)
async def test_the_env_of_a_hook_does_not_change_its_shell(world, which, line):
    configure(world, hostile(world, which), line)

    async with world.load() as engine:
        decision = await engine.dispatch(WRITE)

    assert decision.denied
    found = [d for d in engine.diagnostics if d.code == "shell-variable"]
    assert len(found) == len(HOSTILE[which])
    assert all(d.place.line for d in found)


@pytest.mark.parametrize("which", HOSTILE)
async def test_the_environment_of_the_host_does_not_change_the_shell_of_a_hook(world, which):
    world.environ |= hostile(world, which)
    configure(world)

    async with world.load() as engine:
        decision = await engine.dispatch(WRITE)

    assert decision.denied
    (found,) = [d for d in engine.diagnostics if d.code == "shell-variable"]
    assert found.severity == "info"
    assert all(name in found.message for name in HOSTILE[which])


async def test_an_empty_path_hides_no_program(world):
    configure(world, {"PATH": ""}, "test -n \"$(ls /)\" && sh -c 'exit 2'")

    async with world.load() as engine:
        decision = await engine.dispatch(WRITE)

    assert decision.denied
    assert [d.code for d in engine.diagnostics] == ["shell-variable"]


async def test_the_path_of_a_hook_does_not_choose_its_shell(world):
    tools = world.project / "tools"
    world.write(tools / "bash", "#!/bin/sh\nexit 0")
    configure(world, {"PATH": f"{tools}:{world.environ['PATH']}"})

    assert (await decide(world)).denied


async def test_a_shell_that_is_only_on_the_path_of_the_hook_runs_it(world):
    path, world.environ["PATH"] = world.environ["PATH"], "/nowhere"
    configure(world, {"PATH": path})

    assert (await decide(world)).denied


async def test_a_missing_shell_is_an_error_before_and_a_failure_at_run_time(world):
    world.environ["PATH"] = "relative:/nowhere"
    world.write(world.project / "relative" / "bash", "#!/bin/sh\nexit 2")
    configure(world)

    async with world.load() as engine:
        decision = await engine.dispatch(WRITE)

    checks = check_hooks(engine)
    assert [(d.code, d.severity) for d in checks] == [("missing-shell", "error")]
    assert decision.results[0].failed
    assert [d.code for d in decision.diagnostics] == ["handler-failed"]


async def test_check_looks_programs_up_on_the_path_of_the_hook(world):
    world.write(world.root / "bin" / "only-here", "#!/bin/sh\n")
    configure(world, {"PATH": f"{world.root}/bin"}, "only-here")
    engine = world.load()

    checks = check_hooks(engine)
    assert list(checks) == []


# -- the shim


def shim(world, *options, line, environ=None):
    """Run a command behind the shim; returns what it decides."""
    payload = make_payload("before_tool", agent="claude", tool="Bash", input={"command": "ls"})
    words = ["shim", "--as", "gemini", "--host", "claude", *options, "--", line]
    end = subprocess.run(
        [sys.executable, "-m", "anyhook", *words],
        env={**world.environ, **(environ or {})},
        cwd=world.project,
        input=json.dumps(payload).encode(),
        capture_output=True,
        check=False,
    )
    reply = json.loads(end.stdout or "{}").get("hookSpecificOutput", {})
    return reply.get("permissionDecision"), reply.get("permissionDecisionReason")


@pytest.mark.slow
@pytest.mark.parametrize("which", HOSTILE)
def test_the_shim_keeps_them_from_the_shell_too(world, which):
    environ = hostile(world, which)
    options = [f"--env={name}={value}" for name, value in environ.items()]

    assert shim(world, line=GUARD, environ=environ) == ("deny", "no")
    assert shim(world, *options, line=GUARD) == ("deny", "no")


def test_an_empty_path_hides_nothing_behind_the_shim_either(world):
    assert shim(world, "--env=PATH=", line=GUARD) == ("deny", "no")


@pytest.mark.parametrize("environ", [{}, {"FIRST": "host"}])
async def test_a_value_that_names_another_variable_is_the_same_in_engine_and_shim(world, environ):
    own = {"FIRST": "1", "SECOND": "$FIRST-2", "THIRD": "${SECOND:-none}"}
    line = 'echo "$FIRST $SECOND $THIRD" >&2; exit 2'
    world.environ |= environ
    configure(world, own, line)

    decision = await decide(world)

    options = [f"--env={name}={value}" for name, value in own.items()]
    assert shim(world, *options, line=line) == ("deny", decision.reason)
    assert decision.reason == ("1 host-2 none" if environ else "1 $FIRST-2 none")

"""Warm hook files in an engine: it starts no command, and the decisions are the same."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from anyhook import BeforeTool, Engine
from tests.waiting import until
from tests.warm import CLIENT, Warm, is_running

pytestmark = pytest.mark.slow

SAYS = "@hooks.before_tool\ndef say(event):\n"
EVENT = BeforeTool(tool_name="write_file", tool_input={"file_path": "a", "content": "b"})
FRONTS = {
    "another interpreter": CLIENT,
    "command": [str(Path(sys.executable).with_name("anyhook")), "run"],
}


@pytest.fixture
def warm(tmp_path):
    world = Warm(tmp_path)
    yield world
    world.close()


def load(world, hook, *, front=None, timeout=None, **options) -> Engine:
    """Load an engine whose only hook is a hook file, or a whole command line."""
    line = hook if isinstance(hook, str) else shlex.join([*(front or world.client), str(hook)])
    handler = {"type": "command", "command": line}
    if timeout is not None:
        handler["timeout"] = timeout
    settings = world.root / ".gemini" / "settings.json"
    settings.parent.mkdir(exist_ok=True)
    hooks = {"BeforeTool": [{"matcher": "*", "hooks": [handler]}]}
    settings.write_text(json.dumps({"hooks": hooks}))
    options.setdefault("environ", world.env)
    return Engine.load(world.root, trust_once=True, home=world.root, **options)


def wake(warm, path):
    """Start the server that the commands of the project ask."""
    directory = str(warm.root)
    warm.wake(path, env={"GEMINI_PROJECT_DIR": directory, "CLAUDE_PROJECT_DIR": directory})


async def decide_warm(engine, warm, path) -> object:
    """Decide an event; fail unless a server answered it without a command being started."""
    await anyio.to_thread.run_sync(wake, warm, path)
    before = warm.served
    decision = await engine.dispatch(EVENT)
    await anyio.to_thread.run_sync(until, lambda: warm.served > before)
    return decision


PID = SAYS + "    import os; return deny(str(os.getpid()))"


@pytest.mark.parametrize("front", sorted(FRONTS))
@pytest.mark.anyio
async def test_each_event_of_a_hook_file_has_a_process_of_its_own(warm, front):
    path = warm.hook(PID)
    wake(warm, path)
    async with load(warm, path, front=FRONTS[front]) as engine:
        pids = [int((await decide_warm(engine, warm, path)).reason) for _ in range(3)]

    assert len(set(pids)) == 3  # a process for each event


@pytest.mark.anyio
async def test_arguments_and_variables_of_the_command_line_arrive(warm):
    path = warm.hook(
        SAYS + "    import os, sys\n"
        "    return deny(repr((sys.argv[1:], os.environ['GEMINI_PROJECT_DIR'], os.getcwd())))"
    )
    wake(warm, path)
    line = f'{shlex.join(warm.client)} "$GEMINI_PROJECT_DIR/hook.py" --timeout 9'
    async with load(warm, line) as engine:
        decision = await decide_warm(engine, warm, path)

    where = str(warm.root)
    assert decision.reason == repr((["--timeout", "9"], where, where))


@pytest.mark.parametrize(
    "body",
    [
        "    return deny('no')",
        "    return allow('yes')",
        "    return None",
        "    raise ValueError",
        "    raise SystemExit(2)",
        "    import sys; sys.stderr.write('told'); raise SystemExit(2)",
        "    import os; os._exit(3)",
        "    import os; os.write(2, b'why'); os._exit(2)",
        "    print('beside it'); return deny('no')",
        "    return deny('é' * 100_000)",
    ],
)
@pytest.mark.anyio
async def test_a_server_and_a_process_give_the_same_result(warm, body):
    path = warm.hook(SAYS + body)
    wake(warm, path)
    async with load(warm, path) as engine, load(warm, path, warm=False) as other:
        mine, theirs = await engine.dispatch(EVENT), await other.dispatch(EVENT)
        again = await engine.dispatch(EVENT)

    (one,), (two,) = mine.results, theirs.results
    assert (one.answer, one.exit_code, one.stderr, one.stdout, one.status) == (
        (two.answer, two.exit_code, two.stderr, two.stdout, two.status)
    )
    assert (mine.outcome, mine.reason) == (theirs.outcome, theirs.reason)
    assert (again.outcome, again.reason) == (mine.outcome, mine.reason)


@pytest.mark.anyio
async def test_a_denial_may_be_longer_than_other_output(warm):
    path = warm.hook(SAYS + "    return deny('x' * 3_000_000)")
    wake(warm, path)
    async with load(warm, path) as engine:
        decision = await decide_warm(engine, warm, path)

    assert decision.denied
    assert len(decision.reason) == 3_000_000


@pytest.mark.anyio
async def test_an_edit_counts_at_once(warm):
    path = warm.hook(SAYS + "    return deny('before')")
    wake(warm, path)
    async with load(warm, path) as engine:
        assert (await decide_warm(engine, warm, path)).reason == "before"
        warm.hook(SAYS + "    return deny('after it')")
        assert (await engine.dispatch(EVENT)).reason == "after it"
        assert (await decide_warm(engine, warm, path)).reason == "after it"
        path.write_text("(")
        assert (await engine.dispatch(EVENT)).outcome == "none"
        warm.hook(SAYS + "    return deny('mended now')")
        assert (await engine.dispatch(EVENT)).reason == "mended now"


@pytest.mark.anyio
async def test_a_child_that_is_killed_costs_no_answer(warm):
    path = warm.hook(
        SAYS + "    import os, signal\n"
        "    if not os.path.exists('died.d'):\n        open('died.d', 'w').close()\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n    return deny('no')"
    )
    wake(warm, path)
    async with load(warm, path) as engine:
        assert (await engine.dispatch(EVENT)).reason == "no"
        assert (await decide_warm(engine, warm, path)).reason == "no"


@pytest.mark.anyio
async def test_a_worker_that_is_killed_between_events_costs_no_answer(warm):
    path = warm.hook(SAYS + "    return deny('no')")
    wake(warm, path)
    async with load(warm, path) as engine:
        await decide_warm(engine, warm, path)
        warm.kill()
        until(lambda: not warm.processes)
        for _ in range(2):
            assert (await engine.dispatch(EVENT)).reason == "no"


@pytest.mark.parametrize(
    "switch", [{"ANYHOOK_WORKER": "off"}, {"ANYHOOK_RUNTIME_DIR": "/proc/nowhere"}]
)
@pytest.mark.anyio
async def test_without_a_server_it_is_a_process(warm, switch):
    path = warm.hook(PID)
    wake(warm, path)
    before = warm.served
    async with load(warm, path, environ={**warm.env, **switch}) as engine:
        reasons = {(await engine.dispatch(EVENT)).reason for _ in range(2)}

    assert len(reasons) == 2
    assert warm.served == before


@pytest.mark.anyio
async def test_the_timeout_of_the_settings_ends_the_hook(warm):
    path = warm.hook(
        "hooks = Hooks(timeout=60)\n"
        + SAYS
        + "    import os\n    open(f'begun-{os.getpid()}', 'w').close()\n    while True: pass"
    )
    wake(warm, path)
    async with load(warm, path, timeout=500) as engine:
        decision = await engine.dispatch(EVENT)

    assert decision.results[0].status == "timed_out"
    (begun,) = warm.root.glob("begun-*")
    until(lambda: not is_running(int(begun.name.partition("-")[2])))


@pytest.mark.anyio
async def test_a_cancelled_dispatch_ends_the_hook(warm):
    path = warm.hook(
        SAYS + "    import os\n    open(f'begun-{os.getpid()}', 'w').close()\n    while True: pass"
    )
    wake(warm, path)
    async with load(warm, path) as engine, anyio.create_task_group() as tasks:
        tasks.start_soon(engine.dispatch, EVENT)
        begun = await anyio.to_thread.run_sync(until, lambda: list(warm.root.glob("begun-*")))
        tasks.cancel_scope.cancel()

    until(lambda: not is_running(int(begun[0].name.partition("-")[2])))


@pytest.mark.anyio
async def test_many_events_at_once_are_all_decided(warm):
    path = warm.hook(PID)
    wake(warm, path)
    pids = []

    async def decide(engine):
        pids.append((await engine.dispatch(EVENT)).reason)

    async with load(warm, path) as engine, anyio.create_task_group() as tasks:
        for _ in range(100):
            tasks.start_soon(decide, engine)

    assert len(set(pids)) == 100
    assert None not in pids


@pytest.mark.anyio
async def test_slow_hooks_of_one_file_run_side_by_side(warm):
    path = warm.hook(
        SAYS + "    import os, time\n    open(f'here-{os.getpid()}', 'w').close()\n"
        "    while len([n for n in os.listdir() if n.startswith('here-')]) < 6: time.sleep(0.01)\n"
        "    return deny('all here')"
    )
    wake(warm, path)
    reasons = []

    async def decide(engine):
        reasons.append((await engine.dispatch(EVENT)).reason)

    async with load(warm, path) as engine, anyio.create_task_group() as tasks:
        for _ in range(6):
            tasks.start_soon(decide, engine)

    assert reasons == ["all here"] * 6


@pytest.mark.anyio
async def test_changed_variables_reach_the_next_event(warm):
    path = warm.hook(SAYS + "    import os; return deny(str(os.environ.get('OF_IT')))")
    wake(warm, path)
    environ = dict(warm.env)
    async with load(warm, path, environ=environ) as engine:
        assert (await decide_warm(engine, warm, path)).reason == "None"
        environ["OF_IT"] = "1"
        assert (await decide_warm(engine, warm, path)).reason == "1"
        del environ["OF_IT"]
        assert (await decide_warm(engine, warm, path)).reason == "None"


@pytest.mark.anyio
async def test_a_line_is_read_anew_when_a_variable_in_it_changes(warm):
    paths = [warm.hook(SAYS + f"    return deny('{n}')", f"hook{n}.py") for n in (1, 2)]
    environ = dict(warm.env)
    async with load(warm, f'{shlex.join(warm.client)} "$OF_IT"', environ=environ) as engine:
        for number in (1, 2, 2, 1):
            environ["OF_IT"] = str(paths[number - 1])
            assert (await decide_warm(engine, warm, paths[number - 1])).reason == str(number)


@pytest.mark.anyio
async def test_a_line_that_a_shell_must_read_is_run_by_it(warm):
    path = warm.hook(PID)
    wake(warm, path)
    ran = warm.root / "ran"
    line = f"{shlex.join(warm.client)} {path} && touch {ran}"
    async with load(warm, line) as engine:
        assert (await engine.dispatch(EVENT)).denied

    assert ran.exists()


@pytest.mark.anyio
async def test_variables_that_loading_looks_at_may_change_between_events(warm):
    path = warm.hook(
        "import os\nALL = dict(os.environ)\nos.environ.setdefault('MORE', '1')\n"
        + SAYS
        + "    return deny(ALL['OF_IT'] + os.environ['MORE'])"
    )
    wake(warm, path)
    environ = {**warm.env, "OF_IT": "a"}
    async with load(warm, path, environ=environ) as engine:
        for value in ("a", "b", "c", "a"):
            environ["OF_IT"] = value
            assert (await engine.dispatch(EVENT)).reason == value + "1"


@pytest.mark.anyio
async def test_a_worker_that_hangs_costs_no_answer(warm):
    path = warm.hook(SAYS + "    return deny('no')")
    wake(warm, path)
    pid = warm.server["pid"]
    os.kill(pid, signal.SIGSTOP)
    try:
        async with load(warm, path) as engine:
            for _ in range(4):  # the children that wait already answer the first ones
                assert (await engine.dispatch(EVENT)).reason == "no"
    finally:
        os.kill(pid, signal.SIGCONT)


DENIES_ITSELF = "print('no', file=sys.stderr); sys.exit(2)\n"
IMPORT_MAIN = "from anyhook._entry_point import main"
WRAPPERS = {
    "of the shell": "#!/bin/sh\n# runs anyhook._entry_point\necho no >&2; exit 2\n",
    "around the entry point": f"#!{sys.executable}\nimport sys\n{IMPORT_MAIN}\n" + DENIES_ITSELF,
    "with one line more": Path(sys.executable)
    .with_name("anyhook-python")
    .read_text()
    .replace("if __name__", DENIES_ITSELF + "if __name__", 1),
    "with another module": f"#!{sys.executable}\nimport sys\n{IMPORT_MAIN}\n"
    "from wrapped import main\nsys.exit(main())\n",
}
"""Programs named `anyhook` that deny without asking any hook file."""


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.anyio
async def test_a_wrapper_of_the_same_name_runs_as_a_program(warm, wrapper):
    path = warm.hook(SAYS + "    return allow('asked the file')")
    program = warm.root / "bin" / "anyhook"
    program.parent.mkdir()
    program.write_text(WRAPPERS[wrapper])
    program.chmod(0o755)
    (program.parent / "wrapped.py").write_text(
        "import sys\ndef main():\n    sys.stderr.write('no')\n    return 2\n"
    )
    wake(warm, path)
    environ = {**warm.env, "PATH": f"{program.parent}:{warm.env['PATH']}"}

    for front in (["anyhook", "run"], [str(program), "run"]):
        async with load(warm, path, front=front, environ=environ) as engine:
            decision = await engine.dispatch(EVENT)

        assert (decision.outcome, decision.reason) == ("deny", "no")


@pytest.mark.anyio
async def test_something_else_of_the_same_name_runs_as_what_it_is(warm):
    path = warm.hook(SAYS + "    return deny('no')")
    wake(warm, path)
    other = warm.root / "anyhook"
    other.write_text('#!/bin/sh\necho \'{"decision": "deny", "reason": "another"}\'\n')
    other.chmod(0o755)
    async with load(warm, path, front=[str(other), "run"]) as engine:
        assert (await engine.dispatch(EVENT)).reason == "another"


FORKS = """
import asyncio, json, os, sys
from anyhook import BeforeTool, Engine

def event(text):
    return BeforeTool(tool_name="write_file", tool_input={"file_path": "a", "content": text})

async def ask(engine, own):
    for number in range(100):
        text = f"{own}-{number}"
        decision = await engine.dispatch(event(text))
        assert decision.reason == text, (decision.reason, text)

engine = Engine.load(sys.argv[1], trust_once=True, home=sys.argv[1])
asyncio.run(ask(engine, "before"))
child = os.fork()
asyncio.run(ask(engine, "child" if child == 0 else "parent"))
if child:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_processes_that_fork_share_no_connection(warm):
    path = warm.hook(SAYS + "    return deny(event.tool_input['content'])")
    wake(warm, path)
    load(warm, path).close()

    done = subprocess.run(
        [sys.executable, "-c", FORKS, str(warm.root)],
        env=warm.env,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")

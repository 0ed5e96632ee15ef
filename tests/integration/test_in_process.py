"""Hook files in the host's own process: the same decisions, without a worker."""

from __future__ import annotations

import os
import sys
import threading

import anyio
import pytest

from anyhook import Engine
from anyhook.authoring.load import load_hooks
from anyhook.errors import UsageError
from anyhook.handlers import threads
from anyhook.processes.result import REPLY_LIMIT
from tests.integration.test_leases import EVENT, SAYS, load
from tests.waiting import until
from tests.warm import CLIENTS, Warm

HANGS = "    import os, time\n    while not os.path.exists({!r}): time.sleep(0.01)\n"

HERE = SAYS + "    import os; return deny(str(os.getpid()))"


@pytest.fixture
def warm(tmp_path):
    before = busy_threads()  # other tests leave some behind for good
    world = Warm(tmp_path, CLIENTS.get("native", CLIENTS["interpreter"]))
    yield world
    world.close()
    (tmp_path / "end").touch()  # of functions that nobody waits for
    until(lambda: not set(busy_threads()) - set(before))


def busy_threads() -> list[threading.Thread]:
    """The threads in which a function still runs."""
    mine = [thread for thread in threading.enumerate() if thread.name == "anyhook-function"]
    return [thread for thread in mine if thread not in threads._idle]


WAYS = ("in_process", "on_loop")


def inside(warm, hook, way="in_process", **options) -> Engine:
    return load(warm, hook, warm=way, **options)


async def where(engine) -> str:
    """Tell where a hook ran that says its process."""
    reason = (await engine.dispatch(EVENT)).reason
    return "here" if reason == str(os.getpid()) else "elsewhere" if reason else "nowhere"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.anyio
async def test_a_hook_file_is_run_in_this_process_and_keeps_its_module(warm, way):
    path = warm.hook("count = []\n" + SAYS + "    count.append(1); return deny(str(len(count)))")
    async with inside(warm, warm.hook(HERE, "where.py"), way) as engine:
        assert await where(engine) == "here"
    async with inside(warm, path, way) as engine:
        assert [(await engine.dispatch(EVENT)).reason for _ in range(3)] == ["1", "2", "3"]

    assert not warm.workers


@pytest.mark.parametrize(
    "body",
    [
        "    return deny('no')",
        "    return allow('yes')",
        "    return None",
        "    return {'decision': 'deny'}",
        "    raise ValueError",
        "    raise SystemExit",
        "    raise SystemExit(2)",
        "    raise KeyboardInterrupt",
        "    return deny('é' * 100_000)",
        "    return deny('\\udcff')",
        "    return context('told')",
        "@hooks.before_tool\nasync def later(event):\n    return ask('sure?')",
    ],
)
@pytest.mark.parametrize("policy", ["deny", "allow"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.anyio
async def test_this_process_and_another_say_the_same(warm, body, policy, way):
    hooks = f"hooks = Hooks(on_crash={policy!r})\n"
    start = "" if body.startswith("@") else SAYS
    path = warm.hook(hooks + start + body)
    async with inside(warm, path, way) as engine, load(warm, path, warm=False) as other:
        theirs = await other.dispatch(EVENT)
        for _ in range(2):  # once to load it, once with it loaded
            mine = await engine.dispatch(EVENT)
            (one,), (two,) = mine.results, theirs.results
            assert (one.answer, one.exit_code, one.stderr, one.stdout, one.status) == (
                (two.answer, two.exit_code, two.stderr, two.stdout, two.status)
            )
            assert (mine.outcome, mine.reason) == (theirs.outcome, theirs.reason)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("agent", ["gemini", "claude"])
@pytest.mark.anyio
async def test_an_event_that_the_agent_does_not_have_is_answered_as_by_a_process(warm, agent, way):
    """The engine's agent is not the one that the command line names."""
    path = warm.hook(SAYS + "    return deny('no')")
    line = f"{' '.join(warm.client)} {path} --agent {agent}"
    async with inside(warm, line, way) as engine, load(warm, line, warm=False) as other:
        ends = [(await e.dispatch(EVENT)).results[0] for e in (other, engine, engine)]

    assert len({(end.exit_code, end.stdout, end.stderr) for end in ends}) == 1


@pytest.mark.parametrize(
    ("policy", "outcome"), [("deny", "deny"), ("allow", "none")], ids=["deny", "allow"]
)
@pytest.mark.anyio
async def test_a_hook_that_hangs_is_answered_for_and_costs_no_other_event(warm, policy, outcome):
    path = warm.hook(
        f"hooks = Hooks(timeout=0.3, on_crash={policy!r})\n" + SAYS + "    import os, time\n"
        "    hangs = event.tool_input['content'] == 'b'\n"
        f"    while hangs and not os.path.exists({str(warm.root / 'end')!r}): time.sleep(0.01)\n"
        "    return deny('quick')"
    )
    quick = EVENT.replace(tool_input={"file_path": "a", "content": "c"})
    async with inside(warm, path) as engine:
        with anyio.fail_after(20):
            late, early = await engine.dispatch(EVENT), await engine.dispatch(quick)

    assert late.outcome == outcome
    assert "ran out of time" in (late.reason or " ".join(late.system_messages))
    assert early.reason == "quick"


@pytest.mark.anyio
async def test_the_timeout_of_the_settings_counts_too(warm):
    path = warm.hook("hooks = Hooks(timeout=60)\n" + SAYS + HANGS.format(str(warm.root / "end")))
    async with inside(warm, path, timeout=200) as engine:
        with anyio.fail_after(20):
            (result,) = (await engine.dispatch(EVENT)).results

    assert result.status == "timed_out"


@pytest.mark.anyio
async def test_a_cancelled_dispatch_does_not_wait(warm):
    path = warm.hook(SAYS + HANGS.format(str(warm.root / "end")))
    async with inside(warm, path) as engine:
        with anyio.fail_after(4), anyio.move_on_after(0.3) as scope:
            await engine.dispatch(EVENT)

    assert scope.cancelled_caught


@pytest.mark.anyio
async def test_events_at_once_share_no_turn_and_lose_no_denial(warm):
    """One runs here, the others elsewhere; none waits, and none is loaded here twice."""
    path = warm.hook(
        "hooks = Hooks(timeout=5)\nseen = []\n" + SAYS + "    import os, time\n"
        "    seen.append(1); time.sleep(0.2); seen.append(2)\n"
        "    return deny(f'{os.getpid()} {seen == [1, 2] * (len(seen) // 2)} {len(seen)}')"
    )
    said = []

    async def one():
        said.append((await engine.dispatch(EVENT)).reason)

    async with inside(warm, path) as engine:
        async with anyio.create_task_group() as tasks:
            for _ in range(6):
                tasks.start_soon(one)
        await one()

    here = [words.split()[1:] for words in said if words.startswith(f"{os.getpid()} ")]
    assert len(said) == 7
    assert here == [["True", str(2 * n + 2)] for n in range(len(here))]
    assert 2 <= len(here) < 7


@pytest.mark.anyio
async def test_an_event_beside_one_that_hangs_is_decided(warm):
    end = str(warm.root / "end")
    path = warm.hook(
        "hooks = Hooks(timeout=0.5)\n" + SAYS + "    import os, time\n"
        "    hangs = event.tool_input['content'] == 'b'\n"
        f"    while hangs and not os.path.exists({end!r}): time.sleep(0.01)\n"
        "    return deny('quick')"
    )
    quick = EVENT.replace(tool_input={"file_path": "a", "content": "c"})
    said = []

    async def one(event):
        said.append((await engine.dispatch(event)).reason)

    async with inside(warm, path) as engine, anyio.create_task_group() as tasks:
        await one(quick)
        tasks.start_soon(one, EVENT)
        await anyio.sleep(0.05)
        tasks.start_soon(one, quick)

    assert sorted(map(str, said)) == ["None", "quick", "quick"]


@pytest.mark.parametrize(
    ("way", "function", "on_loop"),
    [
        ("in_process", "def", False),
        ("on_loop", "def", True),
        ("on_loop", "async def", False),
    ],
)
@pytest.mark.anyio
async def test_only_plain_functions_run_on_the_loop_and_only_if_asked(warm, way, function, on_loop):
    path = warm.hook(
        f"@hooks.before_tool\n{function} say(event):\n"
        "    import threading; return deny(str(threading.get_ident()))"
    )
    async with inside(warm, path, way) as engine:
        said = (await engine.dispatch(EVENT)).reason

    assert (said == str(threading.get_ident())) is on_loop


@pytest.mark.anyio
async def test_an_edit_counts_at_once(warm):
    path = warm.hook(SAYS + "    return deny('before')")
    async with inside(warm, path) as engine:
        assert (await engine.dispatch(EVENT)).reason == "before"
        warm.hook(SAYS + "    return deny('after!')")
        assert (await engine.dispatch(EVENT)).reason == "after!"
        path.unlink()
        (gone,) = (await engine.dispatch(EVENT)).results
        warm.hook(SAYS + "    return deny('mended')")
        assert (await engine.dispatch(EVENT)).reason == "mended"

    assert gone.exit_code == 1
    assert "hook file not found" in gone.stderr


@pytest.mark.parametrize(
    "text",
    [
        "import beside\n" + HERE,
        "from beside import x\n" + HERE,
        HERE.replace("import os", "import os, beside"),
        "hooks = Hooks(state='fresh')\n" + HERE,
        "hooks = Hooks(state='cold')\n" + HERE,
        "import os, sys\nif os.environ.get('GEMINI_PROJECT_DIR') is None: sys.exit(1)\n" + HERE,
        "import os, sys; sys.path.insert(0, os.path.abspath('lib')); import inner\n" + HERE,
        HERE.replace("import os", "import os, sys; sys.path.insert(0, 'lib'); import inner"),
        "if __name__ == '__main__':\n    flag = 1\n" + HERE,
        "if 'pytest' in __import__('sys').modules: raise SystemExit\n" + HERE,
        "if 'pytest' in __import__('sys').modules: raise KeyboardInterrupt\n" + HERE,
    ],
)
@pytest.mark.anyio
async def test_a_file_that_needs_more_of_its_own_is_run_elsewhere(warm, text, monkeypatch):
    monkeypatch.delenv("GEMINI_PROJECT_DIR", raising=False)
    (warm.root / "beside.py").write_text("x = 1\n")
    (warm.root / "lib").mkdir()
    (warm.root / "lib" / "inner.py").write_text("x = 1\n")
    paths = sys.path.copy()
    async with inside(warm, warm.hook(text)) as engine:
        assert await where(engine) == "elsewhere"

    assert not {"beside", "inner"} & set(sys.modules)
    assert sys.path == paths


@pytest.mark.parametrize(
    "footer",
    [
        "\nhooks.run()\n",
        "\nif __name__ == '__main__':\n    import os\n    hooks.run()\n",
        "\nif __name__ == '__main__':\n    hooks.run()\n    import os\n",
        "\nif __name__ == '__main__':\n    hooks.run()\nelse:\n    import os\n",
        "\nif __name__ == '__main__':\n    hooks.run(['--timeout', '9'])\n",
        "\nif __name__:\n    hooks.run()\n",
    ],
)
@pytest.mark.anyio
async def test_a_file_that_does_more_than_to_run_is_not_touched_here(warm, footer):
    mark = f"import os\nopen({str(warm.root / 'pids')!r}, 'a').write(f'{{os.getpid()}} ')\n"
    path = warm.hook(mark + HERE, footer=footer)
    async with inside(warm, path) as engine:
        assert await where(engine) == "elsewhere"

    assert str(os.getpid()) not in (warm.root / "pids").read_text().split()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.anyio
async def test_a_plain_function_may_return_something_to_await(warm, way):
    path = warm.hook(
        "async def later(event):\n    import asyncio\n    await asyncio.sleep(0)\n"
        "    return deny('no')\n@hooks.before_tool\ndef say(event):\n    return later(event)"
    )
    wrapped = warm.hook(
        "async def later(event):\n    return deny('wrapped')\n"
        "@hooks.before_tool\ndef say(event):\n    return later(event)",
        "wrapped.py",
    )
    async with inside(warm, path, way) as engine:
        assert (await engine.dispatch(EVENT)).reason == "no"
    async with inside(warm, wrapped, way) as engine:
        assert (await engine.dispatch(EVENT)).reason == "wrapped"


@pytest.mark.anyio
async def test_a_name_that_no_text_can_hold_loses_no_denial(warm):
    path = warm.hook(
        "hooks = Hooks('x\\ud800')\n" + SAYS + "    return deny('no').replace(context=5)"
    )
    async with inside(warm, path) as engine:
        decision = await engine.dispatch(EVENT)

    assert decision.reason == "no"
    assert "x\\ud800" in decision.results[0].stderr


@pytest.mark.anyio
async def test_a_fork_begins_anew(warm):
    path = warm.hook(HERE)
    async with inside(warm, path) as engine:
        assert await where(engine) == "here"
        (only,) = engine._leases._files.values()
        only.turn.acquire()
        engine._leases._pid = 0  # as after a fork, while a function runs in the parent

        assert await where(engine) == "here"


@pytest.mark.anyio
async def test_a_file_that_cannot_be_read_tells_so_as_a_program(warm):
    path = warm.hook("(", header="", footer="")
    async with inside(warm, path) as engine:
        (result,) = (await engine.dispatch(EVENT)).results

    assert result.exit_code == 1
    assert "SyntaxError" in result.stderr


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("argument", ["--wrong", "--timeout=no"])
@pytest.mark.anyio
async def test_wrong_arguments_are_told_as_by_a_program(warm, argument, way):
    path = warm.hook(HERE)
    async with inside(warm, f"{' '.join(warm.client)} {path} {argument}", way) as engine:
        for _ in range(2):  # once to load it, once with it loaded
            (result,) = (await engine.dispatch(EVENT)).results
            assert result.exit_code == 1
            assert argument.partition("=")[0] in result.stderr


@pytest.mark.anyio
async def test_another_interpreter_and_the_switch_keep_it_out(warm, tmp_path):
    other = tmp_path / "python"
    other.symlink_to(sys.executable)
    path = warm.hook(HERE)
    line = " ".join([*warm.client[:-1], str(other), str(path)])
    packages = {**warm.env, "PYTHONPATH": os.pathsep.join(sys.path)}
    async with inside(warm, line, environ=packages) as engine:
        assert await where(engine) == "elsewhere"
    async with inside(warm, path, environ={**warm.env, "ANYHOOK_WORKER": "off"}) as engine:
        assert await where(engine) == "elsewhere"


@pytest.mark.anyio
async def test_long_answers_are_cut_as_those_of_programs(warm):
    path = warm.hook(SAYS + "    return deny('x' * 17_000_000)")
    async with inside(warm, path, output_limit=100) as engine:
        (result,) = (await engine.dispatch(EVENT)).results

    assert result.truncated
    assert len(result.stdout) == REPLY_LIMIT


def test_what_warm_cannot_be_is_told(warm):
    with pytest.raises(UsageError, match="'in_process' or 'on_loop'"):
        load(warm, "true", warm="inside")


def test_a_loaded_file_finds_its_own_classes(tmp_path):
    path = tmp_path / "typed.py"
    path.write_text(
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\nfrom typing import ClassVar\n"
        "from anyhook.authoring import Hooks\nhooks = Hooks()\n"
        "@dataclass\nclass Rule:\n    word: str\n    known: ClassVar[int] = 1\n"
        "@hooks.before_tool\ndef guard(event):\n    return None\n"
    )

    assert load_hooks(path).functions[0].function.__globals__["Rule"]("x").word == "x"


@pytest.mark.anyio
async def test_it_leaves_no_threads_behind_but_idle_ones(warm):
    path = warm.hook(SAYS + "    return deny('no')")
    before = threading.active_count()
    async with inside(warm, path) as engine:
        for _ in range(20):
            await engine.dispatch(EVENT)

    assert threading.active_count() <= before + 1

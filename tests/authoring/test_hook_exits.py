"""`sys.exit` inside a hook function: 2 denies, 0 is no opinion, everything else is a failure."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest

from anyhook import Engine
from anyhook.authoring import Hooks
from anyhook.testing import make_event, run_hook
from tests.warm import WRITE, Warm
from tests.worker.test_warm_engine import EVENT, SAYS, load

EXIT = "    import sys\n    print('do not write keys', file=sys.stderr)\n    sys.exit({code})"
ASYNC = (
    "@hooks.before_tool\nasync def say(event):\n    import asyncio\n    await asyncio.sleep(0)\n"
)


@pytest.fixture
def warm(tmp_path):
    world = Warm(tmp_path)
    yield world
    world.close()


def reply_of(end: tuple[int, str, str]) -> SimpleNamespace:
    code, stdout, _ = end
    assert code == 0
    reply = json.loads(stdout)
    return SimpleNamespace(outcome=reply.get("decision", "none"), reason=reply.get("reason", ""))


async def decided(engine: Engine) -> SimpleNamespace:
    async with engine:
        decision = await engine.dispatch(EVENT)
    return SimpleNamespace(outcome=str(decision.outcome), reason=decision.reason or "")


def in_an_engine(warm, path):
    engine = Engine.load(warm.root, agent="gemini", home=warm.root, environ=warm.env)
    engine.register_file(path)
    return asyncio.run(decided(engine))


WAYS = {
    "command": lambda warm, path: reply_of(warm.cold(path)),
    "worker": lambda warm, path: reply_of(warm.warm(path)),
    "worker of an engine": lambda warm, path: asyncio.run(decided(load(warm, path))),
    "command of an engine": lambda warm, path: asyncio.run(decided(load(warm, path, warm=False))),
    "functions of an engine": in_an_engine,
    "test": lambda _warm, path: run_hook(path, WRITE, agent="gemini"),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("start", [SAYS, ASYNC], ids=["def", "async def"])
def test_an_exit_with_2_denies_with_standard_error_as_the_reason(warm, way, start):
    path = warm.hook(start + EXIT.format(code=2))

    ran = WAYS[way](warm, path)

    assert (str(ran.outcome), ran.reason) == ("deny", "do not write keys")


@pytest.mark.parametrize("way", WAYS)
def test_a_denial_by_exit_without_a_text_names_the_hook(warm, way):
    path = warm.hook(SAYS + "    import sys; sys.exit(2)")

    ran = WAYS[way](warm, path)

    assert (str(ran.outcome), ran.reason) == ("deny", "blocked by hook say")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("code", ["", "0", "None"])
def test_an_exit_with_0_is_no_opinion(warm, way, code):
    path = warm.hook(SAYS + EXIT.format(code=code))

    ran = WAYS[way](warm, path)

    assert (str(ran.outcome), ran.reason) == ("none", "")


@pytest.mark.parametrize("way", [way for way in WAYS if way != "test"])
@pytest.mark.parametrize(("policy", "outcome"), [("allow", "none"), ("deny", "deny")])
@pytest.mark.parametrize("code", ["3", "'a text'"])
def test_any_other_exit_is_a_failure_as_on_crash_says(warm, way, policy, outcome, code):
    hooks = f"hooks = Hooks(on_crash={policy!r})\n"
    path = warm.hook(hooks + SAYS + f"    import sys; sys.exit({code})")

    ran = WAYS[way](warm, path)

    assert str(ran.outcome) == outcome


def test_the_reason_is_what_this_function_printed_and_nothing_of_those_before():
    hooks = Hooks()

    @hooks.before_tool
    def first(event):
        sys.stderr.write("a warning\n")

    @hooks.before_tool
    def second(event):
        sys.stderr.writelines(["not ", "that\n"])
        sys.exit(2)

    event = make_event("before_tool", agent="gemini", tool="shell", input={})

    assert hooks.answer(event).reason == "not that"


def test_what_is_printed_still_reaches_standard_error(warm):
    path = warm.hook(SAYS + EXIT.format(code=2))

    _, _, stderr = warm.cold(path)

    assert stderr == "do not write keys\n"


def test_a_function_that_a_host_registers_denies_by_exit_too(tmp_path):
    def guard(event):
        sys.stderr.write("not that\n")
        sys.exit(2)

    def quiet(event):
        sys.exit(0)

    engine = Engine.load(tmp_path, agent="gemini", home=tmp_path, environ={})
    engine.register("before_tool", quiet)
    engine.register("before_tool", guard)

    decision = asyncio.run(engine.dispatch(EVENT))

    assert (str(decision.outcome), decision.reason) == ("deny", "not that")
    assert [str(result.status) for result in decision.results] == ["ran", "ran"]


def test_functions_that_run_side_by_side_keep_their_reasons_apart(tmp_path, capsys):
    engine = Engine.load(tmp_path, agent="gemini", home=tmp_path, environ={})
    together = threading.Barrier(3)

    def denying(text):
        def guard(event):
            together.wait(20)
            sys.stderr.write(f"{text}\n")
            together.wait(20)
            sys.exit(2)

        return guard

    for text in ("one", "two", "three"):
        engine.register("before_tool", denying(text), name=text)
    before = sys.stderr

    decision = asyncio.run(engine.dispatch(EVENT))

    assert [result.answer.reason for result in decision.results] == ["one", "two", "three"]
    assert sys.stderr is before
    assert sorted(capsys.readouterr().err.split()) == ["one", "three", "two"]


# -- files that fail before they run their functions

STARTED = {
    **WAYS,
    "worker": lambda warm, path: reply_of(warm.run(path)),  # which starts it cold
}
del STARTED["functions of an engine"], STARTED["test"]


@pytest.mark.parametrize("way", STARTED)
@pytest.mark.parametrize("end", ["import no_such_module", "open('no-such-file')", "undefined_name"])
def test_a_file_that_fails_while_it_is_loaded_denies_as_on_crash_says(warm, way, end):
    path = warm.hook(f"hooks = Hooks(on_crash='deny')\n{end}\n{SAYS}    return None")

    ran = STARTED[way](warm, path)

    assert str(ran.outcome) == "deny"
    assert "Error); blocked, because it must not fail" in ran.reason


@pytest.mark.parametrize(
    ("hooks", "payload"),
    [
        ("Hooks()", WRITE),
        ("Hooks(on_crash='deny')", None),
        ("Hooks(on_crash='deny'); hooks.register(engine)", WRITE),
    ],
    ids=["that allows", "without an event", "of a program that embeds them"],
)
def test_any_other_file_that_fails_shows_its_error(warm, hooks, payload):
    engine = "engine = __import__('types').SimpleNamespace()\n"
    path = warm.hook(f"{engine}hooks = {hooks}\nundefined_name\n{SAYS}    return None")
    text = "" if payload is None else json.dumps(payload)
    done = subprocess.run(
        [sys.executable, path], input=text, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (1, "")
    assert "NameError: name 'undefined_name' is not defined" in done.stderr

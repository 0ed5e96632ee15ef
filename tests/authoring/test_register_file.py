"""`Engine.register_file`: the functions of a hook file in the host's process."""

from __future__ import annotations

import importlib
import os
import sys

import pytest

from anyhook import BeforeTool, Engine, deny
from anyhook.authoring.load import load_hooks
from anyhook.errors import UsageError

HEADER = "from anyhook.authoring import Hooks, deny\nhooks = Hooks()\n"
FOOTER = "\nif __name__ == '__main__':\n    hooks.run()\n"
PANIC = "class PanicError(BaseException):\n    pass\n"  # as modules in Rust raise them
SAYS = "@hooks.before_tool('write_file')\ndef guard(event):\n"
EVENT = BeforeTool(tool_name="write_file", tool_input={"file_path": "a", "content": "b"})


@pytest.fixture
def engine(tmp_path):
    return Engine.load(tmp_path, agent="gemini", home=tmp_path, environ={})


@pytest.fixture
def hook(tmp_path):
    def write(body, name="hook.py", header=HEADER):
        path = tmp_path / name
        path.write_text(header + body + FOOTER)
        return path

    return write


@pytest.mark.anyio
async def test_the_functions_of_a_hook_file_decide_in_this_process(engine, hook):
    engine.register_file(hook(SAYS + "    import os; return deny(str(os.getpid()))"))

    decision = await engine.dispatch(EVENT)

    assert (decision.outcome, decision.reason) == ("deny", str(os.getpid()))
    assert not (await engine.dispatch(EVENT.replace(tool_name="read_file"))).denied


@pytest.mark.anyio
async def test_the_module_is_imported_once(engine, hook):
    body = "seen = []\n" + SAYS + "    seen.append(1); return deny(str(len(seen)))"
    engine.register_file(str(hook(body)))

    assert [(await engine.dispatch(EVENT)).reason for _ in range(3)] == ["1", "2", "3"]


@pytest.mark.anyio
async def test_functions_run_in_their_order_and_can_be_taken_back(engine, hook):
    first = SAYS + "    return event.rewrite(content='c')\n"
    second = SAYS.replace("guard", "last") + "    return deny(event.tool_input['content'])"
    handlers = engine.register_file(hook(first + second))

    assert [handler.name for handler in handlers] == ["guard", "last"]
    assert (await engine.dispatch(EVENT)).reason == "c"
    for handler in handlers:
        engine.unregister(handler)
    assert not (await engine.dispatch(EVENT)).denied


@pytest.mark.anyio
async def test_one_function_of_a_file_can_be_taken_back(engine, hook):
    second = SAYS.replace("guard", "last") + "    return deny('still here')\n"
    first, _last = engine.register_file(hook(SAYS + "    return deny('first')\n" + second))

    engine.unregister(first)

    assert (await engine.dispatch(EVENT)).reason == "still here"


@pytest.mark.anyio
@pytest.mark.parametrize("module", ["common_rules.py", "common_rules/__init__.py"])
async def test_each_file_gets_the_module_of_its_own_directory(engine, tmp_path, module):
    for name in ("a", "b"):
        helper = tmp_path / name / module
        helper.parent.mkdir(parents=True)
        helper.write_text(f"REASON = {name!r}\n")
        body = f"import common_rules\n{SAYS}    return deny(common_rules.REASON)"
        guard = tmp_path / name / "guard.py"
        guard.write_text(HEADER + body + FOOTER)
        engine.register_file(guard)

    results = (await engine.dispatch(EVENT)).results

    assert [result.answer.reason for result in results] == ["a", "b"]


@pytest.fixture
def package(tmp_path):
    """A package next to the hook files, of which a guard imports a module when it is asked."""
    directory = tmp_path / "late_rules"
    directory.mkdir()
    (directory / "__init__.py").touch()
    (directory / "words.py").write_text("REASON = 'late'")
    return (
        f"import late_rules\n{SAYS}    from late_rules.words import REASON\n    return deny(REASON)"
    )


@pytest.mark.anyio
async def test_an_interrupt_in_a_group_reaches_the_program(engine, hook):
    body = SAYS.replace("def", "async def")
    engine.register_file(hook(body + "    raise BaseExceptionGroup('', [KeyboardInterrupt()])"))

    with pytest.raises(BaseExceptionGroup) as raised:
        await engine.dispatch(EVENT)

    assert raised.value.subgroup(KeyboardInterrupt) is not None


@pytest.mark.anyio
async def test_another_file_of_the_directory_takes_no_module_away(engine, hook, package):
    engine.register_file(hook(package))
    engine.register_file(hook(SAYS + "    return None", name="other.py"))

    assert (await engine.dispatch(EVENT)).reason == "late"


@pytest.mark.anyio
@pytest.mark.parametrize("broken", ["this is not Python", "import late_rules\n1 / 0"])
async def test_a_file_that_cannot_be_loaded_again_leaves_its_functions_their_modules(
    engine, hook, package, tmp_path, broken
):
    engine.register_file(hook(package))
    (tmp_path / "late_rules" / "__init__.py").write_text("EDITED = True")

    with pytest.raises(UsageError):
        load_hooks(hook(package + "\n" + broken))

    assert (await engine.dispatch(EVENT)).reason == "late"


def test_a_module_is_imported_again_only_if_it_was_edited(hook, tmp_path):
    module = tmp_path / "state_of_hook.py"
    module.write_text("CALLS = []")
    file = hook("import state_of_hook\n" + SAYS + "    return None")
    load_hooks(file)
    first = sys.modules["state_of_hook"]

    load_hooks(file)
    again = sys.modules["state_of_hook"]
    module.write_text("CALLS = [1, 2]")
    load_hooks(file)

    assert again is first
    assert sys.modules["state_of_hook"].CALLS == [1, 2]


def test_a_module_that_the_program_has_imported_is_shared(engine, hook, tmp_path, monkeypatch):
    (tmp_path / "state_of_program.py").write_text("CALLS = []\n")
    monkeypatch.syspath_prepend(tmp_path)
    program = importlib.import_module("state_of_program")
    body = "import state_of_program\nstate_of_program.CALLS.append(1)\n" + SAYS + "    return None"

    engine.register_file(hook(body))

    assert program.CALLS == [1]
    assert sys.modules.pop("state_of_program") is program


@pytest.mark.anyio
@pytest.mark.parametrize("crash", ["allow", "deny"])
@pytest.mark.parametrize("kind", ["def", "async def"])
async def test_a_panic_costs_only_its_function(engine, hook, kind, crash):
    header = HEADER.replace("Hooks()", f"Hooks(on_crash={crash!r})")
    body = SAYS.replace("def", kind) + "    raise PanicError('sk-secret')"
    engine.register("before_tool", lambda _event: deny("no"))
    engine.register_file(hook(body, header=header + PANIC))

    decision = await engine.dispatch(EVENT)

    assert decision.denied
    assert "no" in decision.reason.splitlines()
    assert decision.results[1].error.startswith("raised PanicError at hook.py:")
    assert ("blocking because" in decision.reason) is (crash == "deny")


def test_functions_for_events_that_the_agent_does_not_have_are_left_out(engine, hook, caplog):
    path = hook("@hooks.subagent_stop\ndef f(event):\n    return None\n" + SAYS + "    return None")

    assert [handler.name for handler in engine.register_file(path)] == ["guard"]
    text = "Gemini CLI has no subagent_stop, so functions for it do not run"
    assert [record.message for record in caplog.records] == [f"{path}: {text}"]


@pytest.mark.parametrize(
    ("policy", "outcome"), [("deny", "deny"), ("allow", "none")], ids=["deny", "allow"]
)
@pytest.mark.anyio
async def test_a_crash_follows_on_crash(engine, hook, policy, outcome, caplog):
    caplog.set_level("DEBUG", logger="anyhook.authoring")
    path = hook(f"hooks = Hooks(on_crash={policy!r})\n" + SAYS + "    raise ValueError('secret')")
    engine.register_file(path)

    decision = await engine.dispatch(EVENT)

    assert decision.outcome == outcome
    assert "secret" not in decision.explain()
    (result,) = decision.results
    assert (result.error or "").startswith(f"raised ValueError at {path.name}:")
    assert "secret" in caplog.text


@pytest.mark.anyio
async def test_a_failure_is_at_a_line_of_the_file_and_its_denial_names_the_choice(engine, hook):
    path = hook("hooks = Hooks(on_crash='deny')\n" + SAYS + "    event.call.nope")
    engine.register_file(path)

    decision = await engine.dispatch(EVENT)

    line = path.read_text().splitlines().index("    event.call.nope") + 1
    assert f"raised AttributeError at {path.name}:{line} " in decision.results[0].error
    assert decision.reason == "hook 'guard' failed; blocking because on_crash is \"deny\""


@pytest.mark.parametrize("function", ["def", "async def"])
@pytest.mark.anyio
async def test_a_field_of_a_wrong_type_is_reported_and_the_verdict_stays(engine, hook, function):
    body = SAYS.replace("def", function) + "    return deny('no', system_message=['x'])"
    engine.register_file(hook(body))

    decision = await engine.dispatch(EVENT)

    assert (decision.outcome, decision.reason) == ("deny", "no")
    assert "system_message must be a string, not a list; left out" in str(decision.diagnostics)


@pytest.mark.anyio
async def test_a_file_may_import_modules_beside_it(engine, hook, tmp_path):
    (tmp_path / "words_beside.py").write_text("WORD = 'beside'")
    engine.register_file(
        hook("import words_beside\n" + SAYS + "    return deny(words_beside.WORD)")
    )

    assert (await engine.dispatch(EVENT)).reason == "beside"


@pytest.mark.anyio
async def test_a_file_may_import_all_names(engine, hook):
    header = "from anyhook.authoring import *\nhooks = Hooks()\n"
    text = "@hooks.before_tool\ndef f(event): return deny('no')\n"
    engine.register_file(hook(text, header=header))

    assert (await engine.dispatch(EVENT)).reason == "no"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("open('ran', 'w')\n", "is not an anyhook hook file, and was not run"),
        (HEADER + "1 / 0\n", r"\.py:\d+ cannot be imported: ZeroDivisionError"),
        (HEADER + "hooks.run()\n", "it runs when it is imported"),
    ],
)
def test_what_is_no_hook_file_is_refused(engine, hook, tmp_path, monkeypatch, text, message):
    monkeypatch.chdir(tmp_path)

    with pytest.raises(UsageError, match=message):
        engine.register_file(hook(text, header=""))

    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("warm", ["in_process", "on_loop", 1, None])
def test_warm_is_true_or_false(tmp_path, warm):
    with pytest.raises(UsageError, match=r"warm is True or False, not .*register_file"):
        Engine.load(tmp_path, agent="gemini", home=tmp_path, environ={}, warm=warm)


def test_a_loaded_file_finds_its_own_classes(hook):
    path = hook(
        "from dataclasses import dataclass\nfrom typing import ClassVar\n"
        "@dataclass\nclass Rule:\n    word: str\n    known: ClassVar[int] = 1\n"
        + SAYS
        + "    return None\n",
        header="from __future__ import annotations\n" + HEADER,
    )

    assert load_hooks(path).functions[0].function.__globals__["Rule"]("x").word == "x"

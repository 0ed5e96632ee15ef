"""How a hook's process ends: at once where nobody can tell, as usual everywhere else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from textwrap import dedent

import pytest

from anyhook.testing import make_payload

HOOK = """
from anyhook.authoring import Hooks, deny
import io, os, sys

hooks = Hooks()

{above}

@hooks.before_tool()
def guard(event):
    {inside}
    return deny("no")

if __name__ == "__main__":
    {before}
    {run}
{after}
"""
NOTES = 'print("last words", file=sys.stderr)'
USUAL = {"above": "", "inside": "pass", "before": "pass", "run": "hooks.run()", "after": ""}
PAYLOAD = make_payload("before_tool", agent="claude", tool="shell", input={"command": "ls"})


@pytest.fixture
def end(tmp_path):
    """Run a hook; tells its exit code, its standard error, and whether the interpreter ended."""

    def call(*options, program=None, env=None, **parts):
        path = tmp_path / "hook.py"
        parts = {**USUAL, **parts}
        path.write_text(HOOK.format(**{**parts, "above": dedent(parts["above"])}))
        done = subprocess.run(
            # -v has the interpreter tell what it clears on its way out
            [sys.executable, "-v", *options, *(program or [str(path)])],
            input=json.dumps(PAYLOAD).encode(),
            capture_output=True,
            cwd=tmp_path,
            env=env,
            check=False,
        )
        assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"
        err = done.stderr.decode()
        return done.returncode, err, "# clear sys." in err

    return call


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"after": "\n\n# the end\n"},
        {"above": "import re, pathlib, tempfile, datetime"},
        {"above": "def later():\n    yield 1\nlist(later())"},
        {"inside": "open(__file__).read()"},
        {"inside": "print('to standard error')"},
        {"before": "answered = 0"},
        {"after": NOTES},
        {"after": f"    {NOTES}"},
        {"run": f"hooks.run(); {NOTES}"},
        {"run": f"hooks.run() or {NOTES}"},
        {"run": f"\n    try:\n        hooks.run()\n    except BaseException:\n        {NOTES}"},
        {"run": f"\n    for _ in '1':\n        hooks.run()\n    {NOTES}"},
        {"run": "main()", "above": f"def main():\n    hooks.run()\n    {NOTES}"},
    ],
)
def test_a_hook_ends_at_once_and_nothing_behind_run_is_executed(end, parts):
    code, err, ended = end(**parts)

    assert (code, ended) == (0, False)
    assert "last words" not in err


def test_what_the_file_prints_while_it_is_loaded_is_not_in_front_of_the_reply(end):
    code, err, _ = end("-u", above="print('loading')", before="print('main')", inside="print(1)")

    assert code == 0
    printed = [line for line in err.splitlines() if line in ("loading", "main", "1")]
    assert printed == ["loading", "main", "1"]


def test_a_program_that_embeds_hooks_prints_at_once_again(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import os\nfrom anyhook import Engine\nfrom anyhook.authoring import Hooks\n"
        "hooks = Hooks()\nprint(1)\nhooks.register(Engine.load('.', home='.'))\n"
        "print(2)\nos._exit(0)\n"
    )
    command = [sys.executable, "-u", str(program)]

    done = subprocess.run(command, capture_output=True, check=False, cwd=tmp_path)

    assert done.stdout == b"1\n2\n"


@pytest.mark.parametrize(
    "above",
    [
        f"import atexit\natexit.register(lambda: {NOTES})",
        f"import weakref\nclass Held: pass\nheld = Held()\nweakref.finalize(held, lambda: {NOTES})",
    ],
)
def test_exit_functions_are_called_before_the_process_ends(end, above):
    code, err, ended = end(above=above)

    assert (code, ended) == (0, False)
    assert err.count("last words\n") == 1


@pytest.mark.parametrize(
    "parts",
    [
        {"above": f"class Last:\n    def __del__(self):\n        {NOTES}\nlast = Last()"},
        {
            "above": f"def waiting():\n    try:\n        yield\n    finally:\n        {NOTES}\n"
            "held = waiting()\nnext(held)"
        },
        {"above": "own = io.TextIOWrapper(sys.stderr.buffer)", "inside": "own.write('last words')"},
        {"above": "own = os.fdopen(2, 'w')", "inside": "own.write('last words')"},
        {"above": "import warnings\nwarnings.simplefilter('always')\nheld = open(__file__)"},
        {
            "above": "import ctypes\nlibc = ctypes.CDLL(None)",
            "inside": "libc.printf(b'last words')",
        },
        {
            "above": "import threading\n"
            f"def late():\n    threading.main_thread().join()\n    {NOTES}\n"
            "threading.Thread(target=late, daemon=True)\n"
            f"threading._register_atexit(lambda: {NOTES})"
        },
    ],
)
def test_what_the_interpreter_would_do_at_its_end_is_done(end, parts):
    code, err, ended = end(**parts)

    assert (code, ended) == (0, True)
    assert "last words" in err or "unclosed file" in err


def test_an_open_file_is_written(end, tmp_path):
    code, _, _ = end(above="log = open('log', 'a')", inside="log.write('denied')")

    assert code == 0
    assert (tmp_path / "log").read_text() == "denied"


@pytest.mark.parametrize(
    "options",
    [["-X", "dev"], ["-W", "default"]],
)
def test_a_developers_interpreter_ends_as_usual(end, options):
    assert end(*options)[2]


def test_an_interpreter_that_would_ask_for_more_is_not_ended(end):
    assert end("-i")[2]
    assert end(before="os.environ['PYTHONINSPECT'] = '1'")[2]


@pytest.mark.parametrize(
    "program",
    [
        ["-m", "hook"],
        ["-c", "import runpy; runpy.run_path('hook.py', run_name='__main__')"],
        ["-m", "cProfile", "-o", "profile", "hook.py"],
    ],
)
def test_what_runs_the_file_goes_on_after_it(end, program, tmp_path):
    assert end(program=program)[2]
    assert program[1] != "cProfile" or (tmp_path / "profile").stat().st_size


@pytest.mark.parametrize("setter", ["settrace", "setprofile"])
def test_what_watches_the_file_sees_its_end(end, setter):
    above = f"def watch(*_):\n    return None\nsys.{setter}(watch)"

    assert end(above=above)[2]


@pytest.mark.parametrize(
    "before",
    [
        "sys.argv = ['other']",
        "sys.orig_argv = []",
        "sys.stdin = io.TextIOWrapper(io.BytesIO(sys.stdin.buffer.read()))",
        "sys.stderr = io.StringIO()",
        "sys.modules['others'] = type(sys)('others'); sys.modules['others'].__file__ = 'a.so'",
    ],
)
def test_an_interpreter_that_is_not_what_it_was_ends_as_usual(end, before):
    assert end(run=f"{before}\n    hooks.run()")[2]


LAZY = """
import importlib.util

def lazy(name):
    spec = importlib.util.find_spec(name)
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module

pydoc = lazy("pydoc")
"""


@pytest.mark.parametrize(
    "above",
    [
        LAZY,
        (
            "import types, pathlib\nodd = types.ModuleType('odd')\n"
            "odd.__file__ = pathlib.Path('a.so')\nsys.modules['odd'] = odd"
        ),
        (
            "import types\nclass Odd(types.ModuleType):\n    def __getattr__(self, name):\n"
            "        raise ImportError(name)\nsys.modules['odd'] = Odd('odd')"
        ),
        "sys.modules['odd'] = 5",
        "sys.modules['odd'] = None",
        (
            "class Meta(type):\n    def __eq__(cls, other):\n        return True\n"
            "class Odd(metaclass=Meta):\n    pass\nheld = Odd()"
        ),
        (
            "class Meta(type):\n    def __getattr__(cls, name):\n        raise KeyError(name)\n"
            "class Odd(metaclass=Meta):\n    pass\nheld = Odd()"
        ),
        "sys.modules['__main__'] = None",
    ],
)
def test_whatever_stands_in_the_process_costs_no_denial(end, above):
    code, err, _ = end(above=above)

    assert code == 0
    assert "Traceback" not in err


def test_a_lazy_module_stays_so(end):
    _, err, _ = end(above=LAZY)

    assert "import 'pydoc'" not in err


def test_it_may_be_called_in_a_thread(end):
    run = "import _thread, time; _thread.start_new_thread(hooks.run, ()); time.sleep(600)"
    code, err, _ = end(run=run)

    assert code == 0
    assert "Traceback" not in err


def test_a_standard_error_that_takes_nothing_does_not_change_the_exit_code_of_a_denial(tmp_path):
    path = tmp_path / "hook.py"
    path.write_text(HOOK.format(**{**USUAL, "inside": "sys.stderr.write('x')"}))

    done = subprocess.run(
        f"{sys.executable} hook.py 2>/dev/full",
        shell=True,
        cwd=tmp_path,
        input=json.dumps(PAYLOAD).encode(),
        stdout=subprocess.PIPE,
        env={key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"},
        check=False,
    )

    assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert (
        done.returncode == 0
    )  # 120 would be the interpreter's own: no agent reads the answer then

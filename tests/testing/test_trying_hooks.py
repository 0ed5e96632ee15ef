"""`anyhook test`: what it refuses to run, and what it reports to the author."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap

import pytest

from tests.tables import fast_for

PLAIN = """
import json, pathlib, sys
pathlib.Path("ran").touch()
json.load(sys.stdin)
"""
CRASH = """
from anyhook.authoring import Hooks

hooks = Hooks()

def helper(text):
    return undefined_name

@hooks.before_tool("shell")
def guard(event):
    return helper(event.text)

hooks.example(tool="shell", input={"command": "ls"}, expect="none")
"""
STOP = """
from anyhook.authoring import Hooks, deny

hooks = Hooks()

@hooks.after_agent
def again(event):
    if CONDITION:
        return deny("Run the tests before you stop.")

hooks.example("after_agent", expect="deny", prompt="p", prompt_response="done")

if __name__ == "__main__":
    hooks.run()
"""
NEVER_RUNS = """
import subprocess

from anyhook.authoring import Hooks

hooks = Hooks()

@hooks.before_tool("shell")
def guard(event):
    subprocess.run(["true"])

hooks.example(tool="shell", input={"command": "ls"}, expect="none")
"""


@pytest.fixture
def hook_file(world):
    def write(text, name="guard.py"):
        return world.write(world.project / name, textwrap.dedent(text))

    return write


# -- files that are no hook files


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        "# from anyhook.authoring import Hooks; hooks = Hooks()\n" + PLAIN,
        "import anyhook\n" + PLAIN,
        "class Hooks: pass\nhooks = Hooks()\n" + PLAIN,
    ],
    ids=["plain", "only in a comment", "without Hooks", "of its own"],
)
@pytest.mark.parametrize(
    "command", [["add", "--agent", "claude", "--yes"], ["test"]], ids=lambda c: c[0]
)
def test_a_file_that_is_no_hook_file_is_not_run(world, run, hook_file, command, text):
    path = hook_file(text, "stop_tests.py")

    code, _, err = run(*command, str(path))

    assert code == 64
    assert "stop_tests.py is not an anyhook hook file" in err
    assert "from anyhook.authoring import Hooks" in err
    assert not (world.project / "ran").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "from anyhook.authoring import Hooks\nhooks = Hooks()\n",
        "from anyhook.authoring import Hooks as H\nhooks = H()\n",
        "import anyhook.authoring as a\nhooks = a.Hooks()\n",
        "from anyhook import authoring\nhooks = authoring.Hooks()\n",
    ],
)
def test_every_way_to_make_hooks_is_recognized(run, hook_file, text):
    code, out, _ = run("test", str(hook_file(text)))

    assert code == 1
    assert "There are no examples" in out


# -- crashes


@pytest.mark.slow
def test_a_crash_is_shown_with_the_lines_of_the_hook_that_led_to_it(run, hook_file):
    path = hook_file(CRASH)

    code, out, _ = run("test", str(path), "--agent", "claude")

    assert code == 1
    assert "NameError: name 'undefined_name' is not defined" in out
    assert f'File "{path}", line 11, in guard' in out
    assert f'File "{path}", line 7, in helper' in out
    assert "site-packages" not in out
    assert "anyhook/authoring" not in out


@pytest.mark.slow
def test_a_crash_is_written_to_the_log_and_the_json_too(run, hook_file, tmp_path, monkeypatch):
    path = hook_file(CRASH)
    monkeypatch.setenv("ANYHOOK_LOG", str(tmp_path / "log"))

    _, out, _ = run("test", str(path), "--agent", "claude", "--json")

    for text in ((tmp_path / "log").read_text(), json.loads(out)["results"][0]["traceback"]):
        assert f'File "{path}", line 7, in helper' in text


@pytest.fixture
def run_pytest(world):
    """Run pytest in the project, where some patterns name hook files."""

    def run_pytest(*arguments, patterns="*.py"):
        world.write(world.project / "pytest.ini", f"[pytest]\nanyhook_hooks = {patterns}\n")
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
            cwd=world.project,
            capture_output=True,
            text=True,
            check=False,
        )

    return run_pytest


@pytest.mark.slow
def test_pytest_shows_the_same_lines(run_pytest, hook_file):
    path = hook_file(CRASH)

    assert f'File "{path}", line 7, in helper' in run_pytest(path.name).stdout


# -- files that pytest does not collect of itself

PASSES = f"{NEVER_RUNS}\nif __name__ == '__main__':\n    hooks.run()\n"


@pytest.mark.parametrize("patterns", fast_for([".anyhook/*.py", "hooks/*.py\n  .anyhook/*.py"]))
def test_pytest_runs_every_file_that_a_pattern_names_once(run_pytest, hook_file, patterns):
    hook_file(PASSES, ".anyhook/guard.py")
    hook_file(PASSES, "hooks/guard.py")
    hook_file("def test_first(): pass\n", "tests/test_first.py")
    options = "\ntestpaths = tests"

    some = run_pytest("-rA", patterns=patterns + options)
    hook_file("def test_second(): pass\n", "test_second.py")
    every = run_pytest("-rA", patterns=patterns)

    for done in (some, every):
        for directory in (".anyhook", "hooks"):
            name = f"PASSED {directory}/guard.py::1-before_tool-shell-none[claude]"
            assert done.stdout.count(name) == (directory in patterns)
    assert "PASSED tests/test_first.py::test_first" in some.stdout
    assert "PASSED test_second.py::test_second" in every.stdout


@pytest.mark.slow
@pytest.mark.parametrize("pattern", ["hoks/*.py", "/hooks/*.py"])
@pytest.mark.parametrize("arguments", [(), ("tests",)], ids=str)
def test_a_pattern_that_matches_no_file_is_an_error(run_pytest, hook_file, pattern, arguments):
    hook_file(PASSES, "hooks/guard.py")
    hook_file("def test_first(): pass\n", "tests/test_first.py")

    done = run_pytest(*arguments, patterns=pattern)

    assert done.returncode == 4
    assert f"anyhook_hooks: {pattern!r} matches no file in" in done.stderr


@pytest.mark.slow
def test_a_part_of_the_tests_runs_without_the_hook_files(run_pytest, hook_file):
    hook_file(PASSES, ".anyhook/guard.py")
    hook_file("def test_first(): pass\n", "tests/test_first.py")

    assert "1 passed" in run_pytest("tests", patterns=".anyhook/*.py").stdout


@pytest.mark.slow
def test_workers_run_the_hook_files_too(run_pytest, hook_file):
    hook_file(PASSES, ".anyhook/guard.py")

    assert "8 passed" in run_pytest("-n1", patterns=".anyhook/*.py").stdout


# -- files that decide nothing


def test_a_file_that_never_runs_its_hooks_is_reported(run, hook_file):
    path = hook_file(NEVER_RUNS)

    code, out, _ = run("test", str(path))
    _, text, _ = run("test", str(path), "--json")

    assert code == 0
    assert "guard.py: it never calls hooks.run(), so it decides nothing" in out
    assert len(json.loads(text)["warnings"]) == 1


@pytest.mark.slow
def test_pytest_warns_of_a_file_that_never_runs_its_hooks(run_pytest, hook_file):
    hook_file(NEVER_RUNS)
    done = run_pytest()

    assert done.returncode == 0
    assert "guard.py: it never calls hooks.run()" in done.stdout


# -- denials without an end


@pytest.mark.slow
@pytest.mark.parametrize(
    ("condition", "is_endless"),
    [
        ("True", True),
        ("not event.stop_hook_active", False),
        ("event.stop_hook_active or True", True),
    ],
)
def test_a_denial_that_would_go_on_for_ever_is_reported(run, hook_file, condition, is_endless):
    path = hook_file(STOP.replace("CONDITION", condition))

    _, out, _ = run("test", str(path))
    _, text, _ = run("test", str(path), "--json")

    warning = f"{path.name}:6: again denies after_agent also when stop_hook_active is true"
    assert (warning in out) is is_endless
    assert bool(json.loads(text)["warnings"]) is is_endless


@pytest.mark.slow
def test_a_denial_without_an_end_is_reported_without_an_example_of_it(run, hook_file):
    text = STOP.replace("CONDITION", "True").partition("hooks.example")[0]
    path = hook_file(text + 'hooks.example(tool="shell", input={}, expect="none")\n')

    _, out, _ = run("test", str(path))

    assert "denies after_agent also when stop_hook_active is true" in out


# -- tables


@pytest.mark.slow
def test_nothing_is_shortened_where_the_output_is_no_terminal(run, hook_file):
    command = "echo " + "x" * 400
    path = hook_file(
        f"""
        from anyhook.authoring import Hooks, deny
        hooks = Hooks()
        hooks.example(tool="shell", input={{"command": "{command}"}}, expect="none")
        hooks.example(tool="glob", input={{"pattern": "*"}}, expect="none")
        """
    )

    code, out, _ = run("test", str(path))
    rows = out.splitlines()

    assert code == 0
    assert [word for word in rows[0].split() if word != "#"][:3] == ["event", "what", "expect"]
    assert f'shell {{"command": "{command}"}}' in rows[1]
    assert rows[2].split()[:3] == ["2", "before_tool", "glob"]


HANGS = """
from anyhook.authoring import Hooks, deny

hooks = Hooks(timeout=0.05)

@hooks.before_tool("shell")
def guard(event):
    while not isinstance(event.call.command, TYPE):
        pass
    return deny("use `make clean`")

hooks.example(tool="shell", input={"command": "rm -r build"}, expect="deny")

if __name__ == "__main__":
    hooks.run()
"""


@pytest.mark.parametrize(
    ("kind", "problem"),
    [("list", "with a number for 'command' of shell, the hooks fail"), ("str", "with a list")],
)
def test_a_hook_that_hangs_is_ended_and_reported(run, hook_file, kind, problem):
    path = hook_file(HANGS.replace("TYPE", kind))

    code, out, _ = run("test", str(path), "--agent", "claude")

    assert code == 1
    assert "TimeoutError: it ran out of time" in " ".join(out.split())
    assert problem in out


def test_a_field_of_a_wrong_type_is_left_out_as_in_the_agent(run, hook_file):
    path = hook_file(
        """
        from anyhook.authoring import Hooks, deny

        hooks = Hooks()

        @hooks.before_tool("shell")
        def guard(event):
            return deny(5)

        hooks.example(tool="shell", input={"command": "ls"}, expect="deny")

        if __name__ == "__main__":
            hooks.run()
        """
    )

    code, out, _ = run("test", str(path), "--agent", "claude")

    assert code == 0
    assert "guard: reason must be a string, not a number; left out" in " ".join(out.split())

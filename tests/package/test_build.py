"""The package as it is installed: with a C compiler, and without one."""

from __future__ import annotations

import configparser
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.waiting import until
from tests.warm import WRITE, Warm

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PARTS = ("src", "hatch_build.py", "pyproject.toml", "README.md", "LICENSE")


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """A copy of what a package is built from."""
    copy = tmp_path_factory.mktemp("sources")
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, copy / part)
    return copy


def build(sources, **variables):
    """Build a wheel; return it and what was printed."""
    target = sources / "dist"
    shutil.rmtree(target, ignore_errors=True)
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)],
        cwd=sources,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = target.glob("*.whl")
    return wheel, done.stdout + done.stderr


def scripts_of(wheel):
    """Return the programs of a wheel: the native ones, and the console scripts."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (points,) = (name for name in names if name.endswith("entry_points.txt"))
        parser = configparser.ConfigParser()
        parser.read_string(archive.read(points).decode())
    native = {Path(name).name for name in names if ".data/scripts/" in name}
    return native, set(parser["console_scripts"])


def install(wheel, environment):
    """Install a wheel without what it requires, into a new environment; return its programs."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    python = environment / "bin" / "python"
    options = ("--no-deps", "--no-index", "--quiet", "--disable-pip-version-check")
    pip = [sys.executable, "-m", "pip", "--python", python]
    subprocess.run([*pip, "install", *options, wheel], check=True)
    return environment / "bin"


@pytest.fixture(scope="module")
def wheel(sources):
    if not any(map(shutil.which, ("cc", "gcc", "clang"))):
        pytest.skip("there is no C compiler")
    wheel, _ = build(sources)
    kept = sources / wheel.name
    shutil.move(wheel, kept)
    return kept


@pytest.fixture(scope="module")
def programs(wheel, tmp_path_factory):
    """The directory of the programs, where the wheel is installed."""
    return install(wheel, tmp_path_factory.mktemp("environment"))


def test_a_wheel_with_the_native_program_has_no_console_script_of_that_name(wheel):
    assert "none-any" not in wheel.name
    assert scripts_of(wheel) == ({"anyhook"}, {"anyhook-python"})


@pytest.mark.parametrize(
    ("variables", "problem"),
    [
        ({"PATH": "/nowhere", "CC": ""}, "there is no C compiler"),
        ({"CC": "/no/such/compiler"}, "/no/such/compiler: No such file or directory"),
        ({"CC": "false"}, "it does not run here"),
        ({"ANYHOOK_BUILD_CLIENT": "off"}, ""),
    ],
)
def test_a_package_without_the_native_program_has_a_console_script(sources, variables, problem):
    wheel, output = build(sources, **variables)

    assert wheel.name.endswith("-py3-none-any.whl")
    assert scripts_of(wheel) == (set(), {"anyhook", "anyhook-python"})
    assert "anyhook/worker/anyhook" not in zipfile.ZipFile(wheel).namelist()
    assert problem in output


def link(programs, root):
    """Link the programs as pipx does."""
    for path in programs.glob("anyhook*"):
        (root / path.name).symlink_to(path)
    return root


def link_one(programs, root):
    """Link the program, and not the script, by way of another link."""
    (root / "first").symlink_to(programs / "anyhook")
    (root / "anyhook").symlink_to("first")
    return root


def link_into_cache(programs, root):
    """Let the program of the environment be a link to a file elsewhere, as `uv` can install it."""
    shutil.copy(programs / "anyhook", root / "cached")
    (root / "bin").mkdir()
    (root / "bin" / "anyhook").symlink_to(root / "cached")
    shutil.copy(programs / "anyhook-python", root / "bin")
    return root / "bin"


PLACES = {
    "as installed": lambda programs, root: programs,
    "links to both": link,
    "a link to the program": link_one,
    "a link out of the environment": link_into_cache,
}


@pytest.mark.parametrize("start", ["absolute", "relative", "by name"])
@pytest.mark.parametrize("place", PLACES)
def test_the_program_finds_its_script_and_runs_hooks_warm(programs, tmp_path, place, start):
    (tmp_path / "links").mkdir()
    directory = PLACES[place](programs, tmp_path / "links")
    (tmp_path / "project").mkdir()
    world = Warm(tmp_path / "project")
    path = world.hook(
        "@hooks.before_tool\ndef say(event):\n    return deny(sys.prefix)", "guard.py"
    )
    path.write_text("import sys\n" + path.read_text())
    word = {"absolute": str(directory / "anyhook"), "by name": "anyhook"}.get(start, "./anyhook")
    world.env["PATH"] = f"{directory}:{world.env['PATH']}"

    def run(*words, **options):
        return subprocess.run(
            [word, *words],
            cwd=directory,
            env=world.env,
            capture_output=True,
            text=True,
            check=True,
            **options,
        ).stdout

    try:
        assert run("--version").startswith("anyhook ")
        until(lambda: run("run", str(path), input=json.dumps(WRITE)) and world.served)
        reply = json.loads(run("run", str(path), input=json.dumps(WRITE)))
        assert reply["reason"] == str(programs.parent)
    finally:
        world.close()


def test_a_program_without_its_script_says_what_is_missing(programs, tmp_path):
    program = shutil.copy(programs / "anyhook", tmp_path)

    for words in ([], ["--version"], ["run", "guard.py"]):
        end = subprocess.run([program, *words], capture_output=True, text=True, check=False)
        assert end.returncode == 127
        assert f"{tmp_path}/anyhook-python is missing" in end.stderr


def test_an_environment_with_a_long_path_runs_hooks_warm(wheel, tmp_path):
    programs = install(wheel, tmp_path / ("a path of an environment " * 8).strip())
    world = Warm(tmp_path, [str(programs / "anyhook"), "run"])
    path = world.hook("@hooks.before_tool\ndef say(event):\n    return deny('no')", "guard.py")
    try:
        until(lambda: world.run(path)[0] == 0 and world.served)
    finally:
        world.close()


def test_settings_of_a_user_have_the_absolute_path_of_the_program(programs, tmp_path):
    script = "from anyhook.worker.commands import prefix; import sys; print(prefix(sys.argv[1]))"

    def prefix_of(python, other):
        done = subprocess.run(
            [python, "-c", script, other], capture_output=True, text=True, check=True
        )
        return eval(done.stdout)

    python = str(programs / "python")
    program = str(programs / "anyhook")
    assert prefix_of(python, python) == (program, "run")
    assert prefix_of(python, f"{python}3") == (program, "run")
    assert prefix_of(python, "/usr/bin/python3") == (program, "run", "--python", "/usr/bin/python3")

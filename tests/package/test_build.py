"""The package as it is installed: with a C compiler, and without one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.warm import CLIENTS, WRITE, Warm

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
            shutil.copytree(source, copy / part, ignore=shutil.ignore_patterns("anyhook-run"))
        else:
            shutil.copy(source, copy / part)
    return copy


def build(sources, **variables):
    """Build a wheel; returns it and what was said."""
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


def unpack(wheel, to):
    """Install a wheel into an empty directory: its modules, with the modes that it says."""
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            path = Path(archive.extract(entry, to))
            path.chmod((entry.external_attr >> 16) & 0o777 or 0o644)
    return to


@pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="there is no C compiler"
)
def test_a_wheel_carries_the_native_client(sources, tmp_path):
    wheel, _ = build(sources)
    client = unpack(wheel, tmp_path) / "anyhook" / "worker" / "anyhook-run"

    assert "none-any" not in wheel.name
    done = subprocess.run([client], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        64,
        "usage: anyhook-run PYTHON HOOK.py [ARGUMENT ...]\n",
    )


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        ({"PATH": "/nowhere", "CC": ""}, "there is no C compiler"),
        ({"CC": "/no/such/compiler"}, "/no/such/compiler: No such file or directory"),
        ({"CC": "false"}, "it does not run here"),
        ({"ANYHOOK_BUILD_CLIENT": "off"}, ""),
    ],
)
def test_a_package_is_built_without_a_compiler_too(sources, variables, why):
    wheel, said = build(sources, **variables)

    assert wheel.name.endswith("-py3-none-any.whl")
    assert "anyhook/worker/anyhook-run" not in zipfile.ZipFile(wheel).namelist()
    assert "anyhook/worker/client.c" in zipfile.ZipFile(wheel).namelist()
    assert why in said


def test_without_a_compiler_hooks_are_warm_all_the_same(sources, tmp_path):
    wheel, _ = build(sources, ANYHOOK_BUILD_CLIENT="off")
    site = unpack(wheel, tmp_path / "site")
    project = tmp_path / "project"
    (project / ".gemini").mkdir(parents=True)
    world = Warm(project, CLIENTS["interpreter"])
    world.env["PYTHONPATH"] = str(site)
    anyhook = [sys.executable, "-m", "anyhook"]
    world.hook("@hooks.before_tool\ndef say(event):\n    return deny('no')", "guard.py")

    def run(*words):
        return subprocess.run(
            [*anyhook, *words],
            cwd=project,
            env=world.env,
            capture_output=True,
            text=True,
            check=False,
        )

    try:
        options = ("--agent", "gemini", "--yes", "--python", sys.executable)
        assert run("add", "guard.py", *options).returncode == 0
        settings = json.loads((project / ".gemini" / "settings.json").read_text())
        (definition,) = settings["hooks"]["BeforeTool"]
        line = definition["hooks"][0]["command"]
        assert f"{site}/anyhook/worker/client.py" in line
        for _ in range(20):
            done = subprocess.run(
                ["sh", "-c", line],
                input=json.dumps(WRITE).encode(),
                env={**world.env, "GEMINI_PROJECT_DIR": str(project)},
                cwd=project,
                capture_output=True,
                check=True,
            )
            assert json.loads(done.stdout)["reason"] == "no"
            if world.served:
                break
        assert world.served
        assert "no C compiler" in run("doctor").stdout
    finally:
        world.close()

"""Files that agents need beside their settings: written, checked, and removed at the end."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess

import pytest

from anyhook.agents import get_agent
from anyhook.settings.companions import State, find_companion, render_companion
from tests.world import World

OPENCODE = get_agent("opencode")
PLUGIN = OPENCODE.settings.companions[0]
HOOK = """
from anyhook.authoring import Hooks, deny

hooks = Hooks()

@hooks.before_tool("shell")
def guard(event):
    return deny("no")

if __name__ == "__main__":
    hooks.run()
"""


@pytest.fixture
def world(tmp_path, monkeypatch):
    world = World(tmp_path, agent="opencode")
    for name, value in world.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(world.project)
    return world


@pytest.fixture
def hook_file(world):
    return world.write(world.project / "guard.py", HOOK)


def plugin_of(world, layer="project"):
    return world.files[layer].parent / PLUGIN.path


def install(run, hook_file, *arguments):
    return run("add", str(hook_file), "--agent", "opencode", "--yes", *arguments)


@pytest.mark.slow
def test_install_writes_the_file_and_uninstall_removes_it(world, run, hook_file):
    code, out, _ = install(run, hook_file)
    assert code == 0
    assert "anyhook.js" in out
    assert find_companion(PLUGIN, world.files["project"]).state is State.CURRENT

    code, out, _ = run("remove", str(hook_file), "--agent", "opencode", "--yes")
    assert code == 0
    assert "removed" in out
    assert not plugin_of(world).exists()


@pytest.mark.slow
def test_it_stays_while_another_hook_needs_it(world, run, hook_file):
    other = world.write(world.project / "other.py", HOOK)
    install(run, hook_file)
    install(run, other)
    run("remove", str(hook_file), "--agent", "opencode", "--yes")

    assert plugin_of(world).exists()


@pytest.mark.slow
def test_a_shared_file_names_no_path_of_this_machine(world, run, hook_file):
    install(run, hook_file)

    found = find_companion(PLUGIN, world.files["project"])
    assert found.command == ("anyhook", "dispatch", "--agent", "opencode")


def test_the_users_own_file_names_the_interpreter(world, run, hook_file):
    install(run, hook_file, "--scope", "user", "--python", "/opt/py thon")

    found = find_companion(PLUGIN, world.files["user"])
    assert found.command[:4] == ("/opt/py thon", "-P", "-m", "anyhook")


def test_a_dry_run_shows_it_and_writes_nothing(world, run, hook_file):
    code, out, _ = run("add", str(hook_file), "--agent", "opencode", "--dry-run")

    assert code == 0
    assert "+const COMMAND" in out
    assert not plugin_of(world).exists()


@pytest.mark.slow
def test_a_missing_file_is_an_error_of_check_and_doctor(world, run, hook_file):
    install(run, hook_file)
    plugin_of(world).unlink()

    code, out, _ = run("check", "--agent", "opencode")
    assert code == 1
    assert "companion-missing" in out
    code, out, _ = run("worker", "doctor")
    assert code == 1
    assert "OpenCode runs no hook without the file anyhook.js" in " ".join(out.split())


@pytest.mark.slow
def test_an_edited_file_is_reported_kept_by_uninstall_and_renewed_by_install(world, run, hook_file):
    install(run, hook_file)
    text = plugin_of(world).read_text(encoding="utf-8")
    plugin_of(world).write_text(text.replace("throw new Error", "new Error"), encoding="utf-8")

    assert "companion-changed" in run("check", "--agent", "opencode")[1]
    _, _, err = run("remove", str(hook_file), "--agent", "opencode", "--yes")
    assert "remove it yourself" in err
    assert plugin_of(world).exists()
    install(run, hook_file)
    assert plugin_of(world).read_text(encoding="utf-8") == text


@pytest.mark.slow
def test_a_file_of_another_release_is_a_warning(world, run, hook_file):
    install(run, hook_file)
    text = plugin_of(world).read_text(encoding="utf-8")
    checksum = re.search("[0-9a-f]{64}", text)[0]
    older = text.replace("EXIT_SECONDS = 8", "EXIT_SECONDS = 9").replace(checksum, "__DIGEST__")
    own_checksum = hashlib.sha256(older.encode()).hexdigest()
    plugin_of(world).write_text(older.replace("__DIGEST__", own_checksum), encoding="utf-8")
    out = run("check", "--agent", "opencode")[1]

    assert "warning[companion-outdated]" in out
    assert "companion-changed" not in out


@pytest.mark.slow
def test_migrated_hooks_get_it_too(world, run):
    hooks = {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "true"}]}]}
    world.write(world.project / ".claude" / "settings.json", json.dumps({"hooks": hooks}))
    code, _, _ = run("migrate", "--from", "claude", "--to", "opencode", "--yes")

    assert code == 0
    assert find_companion(PLUGIN, world.files["project"]).state is State.CURRENT


@pytest.mark.slow
def test_doctor_reports_a_missing_program(world, run, hook_file, monkeypatch):
    install(run, hook_file, "--scope", "user", "--python", "/no/such/python")
    code, out, _ = run("worker", "doctor")

    assert code == 1
    assert "there is no program /no/such/python" in " ".join(out.split())


def test_a_link_out_of_the_project_is_not_followed(world, run, hook_file):
    outside = world.root / "outside"
    outside.mkdir()
    (world.project / ".opencode").mkdir()
    (world.project / ".opencode" / "plugins").symlink_to(outside)
    code, _, err = install(run, hook_file)

    assert code != 0
    assert "outside the project" in err
    assert list(outside.iterdir()) == []


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
def test_the_file_is_a_module_that_exports_one_function(world):
    plugin = world.write(plugin_of(world), render_companion(PLUGIN, ('any"hook', "di\\spatch")))
    script = f"""
        const module = await import("{plugin}")
        const exports = Object.entries(module).map(([name, value]) => [name, typeof value])
        console.log(JSON.stringify(exports))
    """
    done = subprocess.run(
        ["node", "--input-type=module", "-e", script], capture_output=True, text=True, check=True
    )

    assert json.loads(done.stdout) == [["AnyhookPlugin", "function"]]

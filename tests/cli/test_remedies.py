"""`anyhook check --fix`: problems with a mechanical remedy."""

from __future__ import annotations

import json

import pytest

COMMAND = {"type": "command", "command": "true"}


@pytest.fixture
def script(world):
    """A script of the project that may not be executed."""
    file = world.write(world.project / "guard.sh", "#!/bin/sh\nexit 0\n")
    file.chmod(0o644)
    world.settings(
        "project",
        {"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "./guard.sh"}]}]}},
    )
    return file


def codes(run, *arguments):
    return {
        item["code"] for item in json.loads(run("check", "--json", *arguments)[1])["diagnostics"]
    }


def test_a_script_becomes_executable_for_those_who_may_read_it(script, run):
    script.chmod(0o640)
    assert "not-executable" in codes(run)

    code, out, _ = run("check", "--fix", "--yes")

    assert "fix  make guard.sh executable" in out
    assert "error[not-executable]" not in out
    assert code == 0
    assert script.stat().st_mode & 0o777 == 0o750


def test_a_project_does_not_change_the_mode_of_files_elsewhere(world, run):
    file = world.write(world.root / "elsewhere.sh", "#!/bin/sh\n")
    file.chmod(0o644)
    (world.project / "guard.sh").symlink_to(file)
    world.settings(
        "project",
        {"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "./guard.sh"}]}]}},
    )

    code, _, err = run("check", "--fix", "--yes")

    assert code == 64
    assert "outside the project" in err
    assert file.stat().st_mode & 0o777 == 0o644


def test_the_name_of_a_hook_that_is_gone_is_removed_with_an_empty_list(world, run):
    text = (
        '{\n  // mine\n  "hooksConfig": {"disabled": ["gone"]},\n  "hooks": {"BeforeTool": %s}\n}'
    )
    file = world.settings("user", text % json.dumps([{"hooks": [COMMAND]}]))
    assert "unknown-hook-name" in codes(run)

    _, out, _ = run("check", "--fix", "--yes")

    assert "remove the name 'gone' from ~/.gemini/settings.json" in out
    assert "unknown-hook-name" not in codes(run)
    assert "// mine" in file.read_text()
    assert "gone" not in file.read_text()


def test_nothing_is_changed_without_consent(script, run):
    code, _, err = run("check", "--fix")

    assert code == 64
    assert "--yes" in err
    assert script.stat().st_mode & 0o777 == 0o644


def test_without_a_remedy_nothing_is_asked(world, run):
    world.settings("user", {"hooks": {"BeforeTool": [{"hooks": [COMMAND]}]}})

    code, out, err = run("check", "--fix")

    assert (code, err) == (0, "")
    assert "fix" not in out


def test_json_of_a_repaired_project_is_clean(script, run):
    code, out, _ = run("check", "--fix", "--yes", "--json")

    assert code == 0
    assert json.loads(out)["ok"] is True


@pytest.mark.slow
def test_a_missing_companion_is_written(world, run):
    hook = world.write(
        world.project / "guard.py",
        "from anyhook.authoring import Hooks\nhooks = Hooks()\n\n\n"
        "@hooks.before_tool()\ndef guard(event):\n    return None\n\n\n"
        'if __name__ == "__main__":\n    hooks.run()\n',
    )
    assert run("add", str(hook), "--agent", "opencode", "--scope", "project", "--yes")[0] == 0
    missing = [
        item["file"]
        for item in json.loads(run("check", "--agent", "opencode", "--json")[1])["diagnostics"]
        if item["code"] == "companion-missing"
    ]
    assert missing == []
    companions = [
        *world.project.glob(".opencode/**/*.js"),
        *world.project.glob(".opencode/**/*.ts"),
    ]
    assert companions
    before = companions[0].read_text()
    companions[0].unlink()
    assert "companion-missing" in codes(run, "--agent", "opencode")

    _, out, _ = run("check", "--agent", "opencode", "--fix", "--yes")

    assert "fix  write .opencode/" in out
    assert companions[0].read_text() == before

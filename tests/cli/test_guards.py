"""The guards that come with anyhook: added, listed, updated, removed; `init` asks which."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import anyhook
from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.manage.add_remove import (
    DEFAULT_GUARDS,
    finish_addition,
    finish_removal,
    hook_files,
    plan_addition,
    plan_removal,
)
from anyhook.manage.guard_files import GUARDS, all_guards, digest, read_guard, released_text
from anyhook.manage.health import HealthWord
from anyhook.manage.hook_file_settings import SettingsPlace
from anyhook.settings.changes import settings_file, write_changes
from anyhook.testing import load_hooks, make_event
from anyhook.trust.store import TrustStore
from tests.answering import answer

NAMES = tuple(all_guards())
NAME, OTHER = sorted(NAMES, key=lambda name: len(all_guards()[name].text))[:2]
"""The shortest guards: their examples take the least time."""
SOURCE = Path(anyhook.__file__).parent


@pytest.fixture
def agents_here(world, monkeypatch):
    """The names of two agents that have settings here, and find the program."""
    programs = Path(sys.executable).parent
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    (world.project / ".claude").mkdir()
    (world.project / ".codex").mkdir()
    return ("claude", "codex")


def copy_of(world, name=NAME):
    return world.project / ".anyhook" / f"guard-{name}.py"


def tree(*roots):
    """Return the files and directories below some roots with what the files hold."""
    paths = [path for root in roots for path in root.rglob("*")]
    return {path: path.read_bytes() if path.is_file() else None for path in paths}


# -- the guards


@pytest.mark.parametrize("name", NAMES)
def test_a_guard_says_what_a_reader_asks(name):
    guard = all_guards()[name]

    assert guard.summary.endswith(".")
    assert guard.prose
    assert guard.families
    assert guard.why
    assert guard.source.startswith("https://")
    assert guard.version >= 1


@pytest.mark.parametrize("name", NAMES)
def test_a_guard_works_without_anyhook_but_its_authoring(name):
    tree = ast.parse(all_guards()[name].text)
    modules = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]

    assert {module for module in modules if module.startswith("anyhook")} == {"anyhook.authoring"}


@pytest.mark.parametrize("name", NAMES)
def test_every_older_version_of_a_guard_is_kept(name):
    for version in range(1, all_guards()[name].version):
        text = released_text(name, version)
        assert text is not None
        assert read_guard(name, text).version == version


# -- add and remove


def add(world, agent, scope, *names):
    """Do what `anyhook add` does, without its trials of examples, which take seconds."""
    place = SettingsPlace(world.project, scope, ("anyhook", "run"), ("anyhook",))
    files = hook_files(names, world.project, scope)
    addition = plan_addition(place, [get_agent(agent)], files)
    write_changes(addition.changes)
    finish_addition(addition)


def remove(world, agent, scope, *names):
    removal = plan_removal(names, world.project, scope, [get_agent(agent)])
    write_changes(removal.changes)
    finish_removal(removal)


@pytest.mark.slow
@pytest.mark.parametrize("agent", CODING_AGENTS)
@pytest.mark.parametrize("scope", ["project", "user"])
@pytest.mark.parametrize("removed", [(NAME, OTHER), (OTHER, NAME)])
def test_removing_guards_leaves_no_trace(world, agent, scope, removed):
    """With an agent that has no settings yet: no file, no directory, no entry of trust stays."""
    data = Path(os.environ["ANYHOOK_DATA_DIR"])
    before = tree(world.project, world.home)

    for name in (NAME, OTHER):
        add(world, agent, scope, name)
    assert tree(world.project, world.home) != before
    for name in removed:
        remove(world, agent, scope, name)

    assert tree(world.project, world.home) == before
    assert not list(data.glob("guards/*"))
    assert not list(data.glob("added/*"))
    assert not TrustStore().records(world.project).entries


@pytest.mark.slow
@pytest.mark.parametrize("agent", CODING_AGENTS)
@pytest.mark.parametrize("removed", [(NAME, OTHER), (OTHER, NAME)])
def test_settings_are_as_before_byte_for_byte(world, agent, removed):
    path = settings_file(get_agent(agent), world.project, "project")
    for text in own_settings(path):
        world.write(path, text)
        for name in (NAME, OTHER):
            add(world, agent, "project", name)
        assert path.read_text() != text
        for name in removed:
            remove(world, agent, "project", name)
        assert path.read_text() == text


def own_settings(path):
    if path.suffix == ".toml":
        return ["", "# mine\n", 'model = "x"  # keep\n']
    return ["{}", "{ }\n", '{\n  "hooks": {}\n}\n', '{\n  // mine\n  "model": "x", // keep\n}\n']


def test_a_guard_is_removed_by_the_path_of_its_copy(world, run, agents_here):
    before = tree(world.project, world.home)
    add(world, "claude", "project", NAME)

    path = str(copy_of(world, NAME))
    assert run("remove", path, "--agent", "claude", "--yes")[0] == 0
    assert tree(world.project, world.home) == before


def test_what_changed_otherwise_meanwhile_stays(world, run):
    path = world.project / ".terminai" / "settings.json"
    add(world, "terminai", "project", NAME)
    settings = json.loads(path.read_text())
    path.write_text(json.dumps({**settings, "mine": 1}))

    assert run("remove", NAME, "--agent", "terminai", "--yes")[0] == 0

    assert json.loads(path.read_text())["mine"] == 1
    assert "hooks" not in json.loads(path.read_text())


@pytest.mark.slow
def test_several_guards_and_a_file_are_one_question_and_one_write(world, agents_here):
    own = world.write(world.project / "own.py", all_guards()[NAME].text)

    code, out = answer(["add", NAME, OTHER, str(own)], b"y", cwd=world.project)

    assert code == 0, out
    assert out.count("Write this?") == 1
    assert out.count("written  ") == 2 + len(agents_here)


def test_what_is_added_is_trusted_and_its_health_is_shown(world, run, agents_here):
    code, out, _ = run("add", NAME, "--yes", "--json")

    rows = json.loads(out)["health"]
    assert code == 0
    assert {row["agent"] for row in rows} == set(agents_here)
    assert {row["word"] for row in rows if row["agent"] == "claude"} == {HealthWord.WORKS}
    assert all("Codex" in row["evidence"] for row in rows if row["agent"] == "codex")
    assert run("trust", "--show", "--agent", "claude")[0] == 0


@pytest.mark.slow
def test_the_examples_of_every_guard_show_that_each_of_its_entries_works(world, run, agents_here):
    code, out, _ = run("add", *NAMES, "--agent", "claude", "--yes", "--json")

    rows = json.loads(out)["health"]
    assert code == 0
    assert {row["hook"] for row in rows} == {f"guard-{name}.py" for name in NAMES}
    assert {row["word"] for row in rows} == {"works"}, rows


def test_a_copy_names_its_version_and_hash(world, run, agents_here):
    for agent in agents_here:
        add(world, agent, "project", NAME)
    header, _, text = copy_of(world).read_text().partition("\n")

    assert text == all_guards()[NAME].text
    assert header == (
        f"# anyhook guard {NAME}, version {all_guards()[NAME].version}, sha256:{digest(text)}"
    )


def test_adding_again_keeps_what_the_user_changed(world, run, agents_here):
    for agent in agents_here:
        add(world, agent, "project", NAME)
    changed = copy_of(world).read_text() + "\n# mine\n"
    copy_of(world).write_text(changed)

    assert run("add", NAME, "--yes")[0] == 0

    assert copy_of(world).read_text() == changed


@pytest.mark.parametrize("command", ["add", "remove"])
def test_a_file_that_is_not_a_copy_is_never_touched(world, run, agents_here, command):
    world.write(copy_of(world), "# mine\n")

    code, _, err = run(command, NAME, "--yes")

    assert code == 64
    assert "has not written it" in " ".join(err.split())
    assert copy_of(world).read_text() == "# mine\n"


def test_a_link_out_of_the_project_is_not_followed(world, run, agents_here):
    (world.project / ".anyhook").symlink_to(world.home)

    assert run("add", NAME, "--yes")[0] == 64
    assert not (world.home / f"guard-{NAME}.py").exists()


@pytest.mark.parametrize(
    ("key", "is_gone"), [(b"y", True), pytest.param(b"n", False, marks=pytest.mark.slow)]
)
def test_removing_asks_about_what_the_user_changed(world, run, agents_here, key, is_gone):
    for agent in agents_here:
        add(world, agent, "project", NAME)
    copy_of(world).write_text(copy_of(world).read_text() + "\n# mine\n")

    _, out = answer(["remove", NAME], key, cwd=world.project)

    assert "has changes of yours" in out
    assert copy_of(world).exists() is not is_gone


def test_a_copy_that_another_agent_runs_stays(world, run, agents_here):
    for agent in agents_here:
        add(world, agent, "project", NAME)

    run("remove", NAME, "--agent", "claude", "--yes")
    assert copy_of(world).exists()
    run("remove", NAME, "--agent", "codex", "--yes")
    assert not copy_of(world).exists()


def test_guards_of_another_agent_stay_trusted(world, run, agents_here):
    """They are in the directory in which files are written and removed."""
    add(world, "claude", "project", NAME)

    add(world, "codex", "project", OTHER)
    assert run("trust", "--show", "--agent", "claude")[0] == 0
    remove(world, "codex", "project", OTHER)
    assert run("trust", "--show", "--agent", "claude")[0] == 0


def test_a_guard_that_cursor_runs_twice_is_reported(world, run, agents_here):
    """Cursor runs the hooks in the settings of Claude Code, too."""
    add(world, "claude", "project", NAME)

    def duplicates(agent):
        report = json.loads(run("check", "--agent", agent, "--json")[1])
        return [item for item in report["diagnostics"] if item["code"] == "duplicate-hook"]

    assert duplicates("cursor") == []
    add(world, "cursor", "project", NAME)
    assert duplicates("claude") == []
    assert duplicates("cursor")
    for item in duplicates("cursor"):
        assert f"Cursor also runs guard-{NAME}.py for " in item["message"]


def test_what_was_trusted_of_a_changed_guard_is_kept(world, run, agents_here):
    add(world, "claude", "project", NAME)
    copy_of(world).write_text(copy_of(world).read_text() + "\n# changed\n")

    add(world, "claude", "project", OTHER)

    code, out, _ = run("trust", "--show", "--agent", "claude")
    assert code == 1
    assert "+# changed" in out


def test_a_copy_stays_while_settings_that_cannot_be_edited_may_run_it(world, run, agents_here):
    for agent in agents_here:
        add(world, agent, "project", NAME)
    world.write(world.project / ".codex" / "hooks.json", "{")

    assert run("remove", NAME, "--yes")[0] == 64
    assert copy_of(world).exists()


@pytest.mark.parametrize("command", [["add"], ["add", "--why"], ["add", "--update"], ["remove"]])
def test_a_misspelt_name_gets_the_right_one(run, agents_here, command):
    code, _, err = run(*command, NAME[:-1], "--yes")

    assert code == 64
    assert f"did you mean '{NAME}'?" in err


@pytest.mark.parametrize("command", [["remove"], ["add", "--update"]])
def test_a_guard_that_is_not_added_is_an_error(run, agents_here, command):
    assert run(*command, NAME, "--yes")[0] == 64


def test_the_list_shows_where_guards_are_added(world, run, agents_here):
    for agent in agents_here:
        add(world, agent, "project", NAME)
    add(world, "claude", "user", NAME)
    copy_of(world).write_text(copy_of(world).read_text() + "# mine\n")

    rows = {row["name"]: row for row in json.loads(run("add", "--list", "--json")[1])["guards"]}
    added = {row["scope"]: row for row in rows[NAME]["added"]}

    assert rows.keys() == all_guards().keys()
    assert added["project"]["agents"] == [*agents_here]
    assert added["project"]["changed"] is True
    assert added["user"]["agents"] == ["claude"]
    assert added["user"]["changed"] is False
    assert not rows[OTHER]["added"]
    assert "project: claude, codex" in run("add", "--list")[1]


def test_why_shows_what_happened(run):
    guard = all_guards()[NAME]
    code, out, _ = run("add", "--why", NAME)

    assert code == 0
    for text in (guard.prose, guard.why, guard.source):
        assert text in out


# -- update


OLDER = '''"""Guard.

What it does.

Families: files
Why: it happened.
Source: https://example.com
Version: 1
"""

from anyhook.authoring import Hooks, deny

LIMIT = 1

hooks = Hooks(on_crash="deny")


@hooks.before_tool("shell")
def guard(event):
    if "rm" in event.text:
        return deny("no")


hooks.example(tool="shell", input={"command": "rm x"}, expect="deny")

if __name__ == "__main__":
    hooks.run()
'''
NEWER = OLDER.replace("Version: 1", "Version: 2").replace('"no"', '"no, move it"')


class Release:
    """An anyhook with one guard, whose version may be replaced."""

    def __init__(self, world):
        self.package = world.root / "release" / "anyhook"
        self.guards = self.package / "guards"
        (self.guards / "released").mkdir(parents=True)
        for path in SOURCE.iterdir():
            if path.name != "guards":
                (self.package / path.name).symlink_to(path)
        # Modules find the guards next to their own package, so that this one is no link.
        (self.package / "manage").unlink()
        (self.package / "manage").mkdir()
        for path in (SOURCE / "manage").glob("*.py"):
            (self.package / "manage" / path.name).write_bytes(path.read_bytes())
        self.project = world.project

    def publish(self, text, *older):
        (self.guards / "own.py").write_text(text)
        for number, old in enumerate(older, 1):
            (self.guards / "released" / f"own-{number}.py").write_text(old)

    def __call__(self, *arguments):
        command = [sys.executable, "-P", "-m", "anyhook", *arguments]
        environ = {**os.environ, "PYTHONPATH": str(self.package.parent)}
        return subprocess.run(
            command, cwd=self.project, env=environ, capture_output=True, text=True, check=False
        )


@pytest.fixture
def release(world):
    (world.project / ".claude").mkdir()
    release = Release(world)
    release.publish(OLDER)
    done = release("add", "own", "--yes")
    assert done.returncode == 0, done.stderr
    return release


@pytest.mark.slow
def test_an_update_replaces_a_copy_and_shows_the_difference(world, release):
    release.publish(NEWER, OLDER)

    done = release("add", "--update", "--yes")

    assert done.returncode == 0, done.stderr
    assert '+        return deny("no, move it")' in done.stdout
    header, _, text = copy_of(world, "own").read_text().partition("\n")
    assert header == f"# anyhook guard own, version 2, sha256:{digest(NEWER)}"
    assert text == NEWER
    assert "nothing new" in release("add", "--update", "--yes").stdout


@pytest.mark.slow
def test_an_update_merges_what_the_user_changed(world, release):
    copy = copy_of(world, "own")
    copy.write_text(copy.read_text().replace("LIMIT = 1", "LIMIT = 2"))
    release.publish(NEWER, OLDER)

    done = release("add", "--update", "own", "--yes", "--json")

    assert json.loads(done.stdout)["guards"][0]["state"] == "merged"
    assert copy.read_text().partition("\n")[2] == NEWER.replace("LIMIT = 1", "LIMIT = 2")


@pytest.mark.slow
def test_a_copy_with_the_line_ends_of_windows_is_one_of_the_guard(world, release):
    copy = copy_of(world, "own")
    copy.write_bytes(copy.read_bytes().replace(b"LIMIT = 1", b"LIMIT = 2").replace(b"\n", b"\r\n"))
    release.publish(NEWER, OLDER)

    done = release("add", "--update", "own", "--yes", "--json")

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["guards"][0]["state"] == "merged"
    assert copy.read_text().partition("\n")[2] == NEWER.replace("LIMIT = 1", "LIMIT = 2")


@pytest.mark.slow
def test_an_update_of_a_new_event_changes_the_settings(world, release):
    release.publish(NEWER.replace("before_tool", "after_tool").replace("hooks.example(", "dict("))

    assert release("add", "--update", "--yes").returncode == 0

    settings = json.loads((world.project / ".claude" / "settings.json").read_text())
    assert settings["hooks"].keys() == {"PostToolUse"}


@pytest.mark.slow
def test_an_update_that_conflicts_changes_nothing(world, release):
    copy = copy_of(world, "own")
    copy.write_text(copy.read_text().replace('"no"', '"never"'))
    release.publish(NEWER, OLDER)
    before = tree(world.project)

    done = release("add", "--update", "--yes")
    report = json.loads(release("add", "--update", "--yes", "--json").stdout)

    line = copy.read_text().splitlines().index('        return deny("never")') + 1
    (conflict,) = report["guards"][0]["conflicts"]
    assert done.returncode == 1
    assert f"guard-own.py:{line}: yours" in done.stdout
    assert conflict == {
        "line": line,
        "yours": ['        return deny("never")'],
        "released": ['        return deny("no, move it")'],
    }
    assert tree(world.project) == before


@pytest.mark.slow
def test_an_update_without_the_former_text_does_not_guess(world, release):
    copy = copy_of(world, "own")
    copy.write_text(copy.read_text().replace('"no"', '"never"'))
    release.publish(NEWER)
    before = tree(world.project)

    done = release("add", "--update", "--yes")

    assert done.returncode == 64
    assert "lacks version 1" in " ".join(done.stderr.split())
    assert tree(world.project) == before


# -- init


@pytest.mark.slow
def test_init_guards_the_agents_that_are_here(world, run, agents_here):
    code, out, err = run("init", "--yes")

    assert code == 0, err
    for name in set(DEFAULT_GUARDS) & set(NAMES):
        assert copy_of(world, name).exists()
        assert f"guard-{name}" in out
    assert "works" in out


@pytest.mark.slow
def test_init_adds_the_guards_that_are_named(world, run, agents_here):
    assert run("init", "--guards", f"{OTHER},{NAME}", "--yes")[0] == 0

    copies = {path.name for path in (world.project / ".anyhook").iterdir()}
    assert copies == {f"guard-{OTHER}.py", f"guard-{NAME}.py"}


@pytest.mark.parametrize(
    "answered",
    [
        "none\r",
        f"{NAME}\r",
        pytest.param("\r", marks=pytest.mark.slow),
        pytest.param(f"{NAME[:-1]}\rnone\r", marks=pytest.mark.slow),
    ],
)
def test_init_asks_one_question(world, agents_here, answered):
    code, out = answer(["init"], answered.encode(), question="none: ", cwd=world.project)

    copies = {path.stem for path in (world.project / ".anyhook").glob("*.py")}
    names = {"\r": set(DEFAULT_GUARDS) & set(NAMES), f"{NAME}\r": {NAME}}.get(answered, set())
    assert code == 0, out
    assert copies == {f"guard-{name}" for name in names}
    assert "Write this?" not in out
    if answered.startswith(NAME[:-1] + "\r"):
        assert f"did you mean '{NAME}'?" in out


@pytest.mark.parametrize("options", [(), ("--json",), ("--guards", NAME), ("--guards", "all")])
def test_init_without_a_terminal_writes_nothing(world, run, agents_here, options):
    before = tree(world.project)

    code, _, err = run("init", *options)

    assert code == 64
    assert "--yes" in err
    assert tree(world.project) == before


def test_init_without_an_agent_asks_for_one(world, run):
    code, _, err = run("init", "--yes")

    assert code == 64
    assert "name one: --agent" in err
    assert not (world.project / ".anyhook").exists()


def test_the_guards_are_in_the_package():
    assert {path.stem.replace("_", "-") for path in GUARDS.glob("[!_]*.py")} == set(NAMES)


# -- guards that are bound to the same files, and changes that no hook saw


@pytest.mark.slow
def test_hooks_stay_trusted_when_others_are_added_and_removed(world, run, agents_here):
    """The guard `files` is bound to all files in `.anyhook`, because it names that directory."""
    run("add", "files", "--agent", "claude", "--yes")
    run("add", NAME, "--agent", "claude", "--yes")
    assert run("trust", "--show", "--agent", "claude")[0] == 0

    run("remove", NAME, "--agent", "claude", "--yes")
    assert run("trust", "--show", "--agent", "claude")[0] == 0

    world.write(world.project / ".anyhook" / "stranger.py", "x = 1\n")
    run("add", NAME, "--agent", "claude", "--yes")
    assert run("trust", "--show", "--agent", "claude")[0] == 1


@pytest.mark.parametrize("scope", ["project", "user"])
def test_removing_a_guard_that_is_disabled_leaves_no_trace(world, run, agents_here, scope):
    before = tree(world.project)
    run("add", NAME, "--agent", "claude", "--scope", scope, "--yes")
    assert run("disable", f"guard-{NAME}.py", "--agent", "claude")[0] == 0

    assert run("remove", NAME, "--agent", "claude", "--scope", scope, "--yes")[0] == 0

    assert json.loads(run("list", "--agent", "claude", "--json")[1]) == []
    assert tree(world.project) == before


def test_adding_a_guard_that_is_disabled_switches_it_on(world, run, agents_here):
    run("add", NAME, "--agent", "claude", "--yes")
    run("disable", f"guard-{NAME}.py", "--agent", "claude")

    run("add", NAME, "--agent", "claude", "--yes")

    [hook] = json.loads(run("list", "--agent", "claude", "--json")[1])
    assert (hook["state"], hook["health"]["word"]) == ("on", "works")


def test_the_copy_of_a_guard_stays_for_an_agent_in_which_it_is_disabled(world, run, agents_here):
    run("add", NAME, "--agent", "claude", "--agent", "codex", "--yes")
    run("disable", f"guard-{NAME}.py", "--agent", "claude")

    run("remove", NAME, "--agent", "codex", "--yes")

    run("enable", f"guard-{NAME}.py", "--agent", "claude")
    [hook] = json.loads(run("list", "--agent", "claude", "--json")[1])
    assert (hook["state"], hook["health"]["word"]) == ("on", "works")


def test_guards_that_were_moved_to_another_agent_are_trusted_in_both(world, run, agents_here):
    add(world, "claude", "project", NAME, OTHER)
    run("migrate", "--from", "claude", "--to", "codex", "--yes")

    assert run("trust", "--agent", "codex", "--yes")[0] == 0

    assert run("trust", "--agent", "codex", "--show")[0] == 0
    assert run("trust", "--agent", "claude", "--show")[0] == 0


@pytest.mark.parametrize("scope", ["project", pytest.param("user", marks=pytest.mark.slow)])
def test_settings_that_are_emptied_before_the_first_session_are_reported(
    world, run, agents_here, scope
):
    add(world, "claude", scope, "own-hooks")
    run("add", NAME, "--agent", "claude", "--scope", scope, "--yes")
    assert "guard-changed" not in run("list")[1]

    directory = world.project if scope == "project" else world.home
    (directory / ".claude" / "settings.json").write_text("{}")
    assert run("list")[1].count(".claude/settings.json: warning[guard-changed]") == 1

    assert run("trust", "--yes")[0] == 0
    assert "guard-changed" not in run("list")[1]


def test_settings_without_their_guards_are_reported_until_they_are_reviewed(
    world, run, agents_here
):
    add(world, "claude", "project", "own-hooks")
    hooks = load_hooks(copy_of(world, "own-hooks"))
    start = make_event("session_start", agent="claude", cwd=str(world.project))
    assert hooks.answer(start).outcome == "none"
    assert "guard-changed" not in run("check")[1]

    settings = world.project / ".claude" / "settings.json"
    settings.write_text('{"hooks": {}}')

    assert ".claude/settings.json: warning[guard-changed]" in run("list")[1]
    codes = [one["code"] for one in json.loads(run("check", "--json")[1])["diagnostics"]]
    assert "guard-changed" in codes
    code, out, _ = run("trust", "--show")
    assert code == 1
    assert '+{"hooks": {}}' in out
    assert "Changed: " in str(hooks.answer(start).system_message)

    assert run("trust", "--yes")[0] == 0
    assert "guard-changed" not in run("list")[1]
    assert run("trust", "--show")[0] == 0


def test_a_guard_that_was_migrated_to_an_agent_without_a_variable_runs(world, run, monkeypatch):
    programs = Path(sys.executable).parent
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    subprocess.run(["git", "init", "--quiet", world.project], check=True)
    add(world, "claude", "project", "git")
    assert run("migrate", "--from", "claude", "--to", "codex", "--yes")[0] == 0
    assert run("trust", "--agent", "codex", "--yes")[0] == 0
    below = world.project / "src"
    below.mkdir()
    monkeypatch.chdir(below)

    call = '{"command": "git reset --hard"}'
    _, out, _ = run("fire", "PreToolUse", "--agent", "codex", "--tool", "Bash", "--input", call)

    assert "throws away changes" in out

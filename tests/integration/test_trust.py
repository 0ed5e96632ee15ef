"""Hooks of a project run when it is trusted, as it was when it was trusted."""

from __future__ import annotations

import asyncio
import json
import os
import stat

import pytest

from anyhook import BeforeTool, TrustStore
from anyhook.model.definitions import HandlerSpec, Layer
from anyhook.model.diagnostics import Place
from anyhook.trust.scripts import named_files, program
from tests.world import World

WRITE = BeforeTool(tool_name="write_file", tool_input={})
DENY = "#!/bin/sh\necho no >&2; exit 2\n"


@pytest.fixture
def store(tmp_path):
    return TrustStore(tmp_path / "trust")


@pytest.fixture
def world(tmp_path, store):
    world = World(tmp_path)
    world.script = world.write(world.project / "guard.sh", DENY)
    world.configure = lambda **more: world.settings(
        "project",
        {
            "hooks": {
                "BeforeTool": [{"hooks": [{"type": "command", "command": "./guard.sh", **more}]}]
            }
        },
    )
    world.configure()
    return world


def load(world, store):
    return world.load(trust_once=False, trust_store=store)


def decide(engine):
    return asyncio.run(engine.dispatch(WRITE))


def trust(world, store):
    store.trust(world.project, load(world, store).guard.subjects())


def test_an_unknown_project_does_not_run(world, store):
    decision = decide(load(world, store))

    assert decision.results[0].status == "withheld"
    assert not decision.denied
    assert "does not run: its project is not trusted" in decision.diagnostics[0].message


def test_a_trusted_project_runs(world, store):
    trust(world, store)

    engine = load(world, store)

    assert decide(engine).denied
    assert engine.guard.changes() == []
    assert engine.diagnostics == ()


def test_a_changed_script_asks_again_and_shows_the_difference(world, store):
    trust(world, store)
    world.write(world.script, DENY.replace("no", "never"))

    engine = load(world, store)

    assert decide(engine).results[0].status == "withheld"
    assert decide(engine).diagnostics[0].code == "trust-changed"
    (change,) = engine.guard.changes()
    assert (change.what, "-echo no >&2; exit 2" in change.difference) == ("script", True)
    assert "+echo never >&2; exit 2" in change.difference


def test_a_script_that_changes_under_a_loaded_engine_does_not_run(world, store):
    trust(world, store)
    engine = load(world, store)
    assert decide(engine).denied

    world.write(world.script, "#!/bin/sh\nexit 0\n")

    assert decide(engine).results[0].status == "withheld"


def test_a_script_that_was_only_touched_runs(world, store):
    trust(world, store)
    engine = load(world, store)
    assert decide(engine).denied

    os.utime(world.script)

    assert decide(engine).denied


def test_a_script_that_goes_away_is_a_change(world, store):
    trust(world, store)
    world.script.unlink()

    (change,) = load(world, store).guard.changes()

    assert change.difference[0].endswith("is not there")


def test_a_missing_script_that_appears_is_a_change(world, store):
    world.script.unlink()
    trust(world, store)
    assert load(world, store).guard.changes() == []

    world.write(world.script, DENY)

    assert len(load(world, store).guard.changes()) == 1


@pytest.mark.parametrize(
    "more", [{"timeout": 1000}, {"name": "other"}, {"env": {"A": "1"}}, {"command": "./guard.sh x"}]
)
def test_a_changed_definition_is_new(world, store, more):
    trust(world, store)
    world.configure(**more)

    (change,) = load(world, store).guard.changes()

    assert change.what == "new"


def test_moving_a_definition_in_its_file_changes_nothing(world, store):
    trust(world, store)
    text = world.files["project"].read_text()
    world.settings("project", "// a comment\n\n" + text)

    assert decide(load(world, store)).denied


def test_trust_is_bound_to_the_project(world, store, tmp_path):
    trust(world, store)
    other = World(tmp_path / "other")
    other.write(other.project / "guard.sh", DENY)
    other.settings("project", world.files["project"].read_text())

    assert decide(load(other, store)).results[0].status == "withheld"


def test_trusting_again_forgets_what_is_gone(world, store):
    trust(world, store)
    first = world.files["project"].read_text()
    world.configure(name="new")
    trust(world, store)
    world.settings("project", first)

    assert len(load(world, store).guard.changes()) == 1


def test_trust_can_be_revoked(world, store):
    assert not store.revoke(world.project)
    trust(world, store)

    assert store.revoke(world.project)

    assert not decide(load(world, store)).denied


def test_a_broken_store_trusts_nothing_and_says_so(world, store):
    trust(world, store)
    (file,) = store.directory.glob("*.json")
    for text in ("{", "[]", '{"hooks": 5}', '{"hooks": {}}'):
        file.write_text(text)
        engine = load(world, store)
        assert not decide(engine).denied
        codes = [d.code for d in engine.diagnostics]
        assert codes == ["project-untrusted", "trust-store"][: 2 if text != '{"hooks": {}}' else 1]


def test_entries_that_anyhook_did_not_write_trust_nothing(world, store):
    trust(world, store)
    (file,) = store.directory.glob("*.json")
    whole = json.loads(file.read_text())
    for spoilt in (5, {}, {"scripts": 5}, {"scripts": {str(world.script): 5}}):
        whole["hooks"] = dict.fromkeys(whole["hooks"], spoilt)
        file.write_text(json.dumps(whole))
        assert not decide(load(world, store)).denied


def test_the_store_is_the_users_alone(world, store):
    trust(world, store)
    (file,) = store.directory.glob("*.json")

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(store.directory.stat().st_mode) == 0o700


def test_the_store_is_where_the_user_says(home):
    assert TrustStore().directory == home / "data" / "trust"


def test_the_store_has_a_place_of_its_own(monkeypatch):
    monkeypatch.delenv("ANYHOOK_DATA_DIR")

    assert TrustStore().directory.parent.name == "anyhook"


def test_large_and_binary_scripts_are_bound_without_being_shown(world, store):
    for before, after in ((b"\xff\xfe", b"\xff\xfd"), (b"x" * 300_000, b"y" * 300_000)):
        world.script.write_bytes(before)
        trust(world, store)
        world.script.write_bytes(after)
        (change,) = load(world, store).guard.changes()
        assert "was sha256" in change.difference[0]


# -- which files a command names


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("./a.sh", ["a.sh"]),
        ("a.sh", ["a.sh"]),
        ("bash a.sh && python3 sub/b.py", ["a.sh", "sub/b.py"]),
        ('"$GEMINI_PROJECT_DIR"/a.sh', ["a.sh"]),
        ('python3 "${GEMINI_PROJECT_DIR}/sub/b.py" --x', ["sub/b.py"]),
        ("cat x | ./a.sh > out", ["a.sh"]),
        ("(./a.sh; sub/b.py)", ["a.sh", "sub/b.py"]),
        ("bash -c './a.sh && sub/b.py'", ["a.sh", "sub/b.py"]),
        ("HOOK=./a.sh node x", ["a.sh"]),
        ("jq .tool_name", []),
        ("/bin/echo hi", []),
        ("./missing.sh", ["missing.sh"]),
        ("echo missing", []),
        ("./a.sh 'unbalanced", ["a.sh"]),
        ("$OTHER/a.sh", []),
        ("~nobody-here/x.sh", []),
        ("cd sub; ./b.py", ["sub/b.py"]),
        ("cd sub && cd .. && ./a.sh", ["a.sh"]),
        ("python3 -m sub.b", ["sub/b.py"]),
        ("python3 -m json.tool", []),
        ("make guard", ["Makefile"]),
        ("npm run guard", []),
    ],
)
def test_the_files_that_a_command_names(tmp_path, command, found):
    for name in ("a.sh", "sub/b.py", "Makefile"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    handler = HandlerSpec("command", Layer.PROJECT, Place("s"), command=command)

    files = named_files(handler, tmp_path, {"GEMINI_PROJECT_DIR": str(tmp_path)})

    assert sorted(str(f.relative_to(tmp_path)) for f in files) == sorted(found)


def test_the_program_of_a_command(tmp_path):
    def of(command):
        return program(
            HandlerSpec("command", Layer.USER, Place("s"), command=command), tmp_path, {}
        )

    assert of("jq -r .x") == "jq"
    assert of("./a.sh") == tmp_path / "a.sh"
    assert of("$X/a.sh") is None
    assert of("") is None

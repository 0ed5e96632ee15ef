"""Hooks of a project run when it is trusted, as it was when it was trusted."""

from __future__ import annotations

import asyncio
import json
import os
import stat

import anyio
import pytest

from anyhook import AfterTool, BeforeTool, Engine, TrustStore
from anyhook.cli import main
from anyhook.handlers.background import MAX_RUNNING
from anyhook.model.definitions import HandlerSpec
from anyhook.model.diagnostics import Place
from anyhook.model.layers import Layer
from anyhook.trust.scripts import named_files, program
from tests.waiting import until
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
    engine = load(world, store)
    store.trust(world.project, engine.guard.subjects(), agent=engine.agent.name)


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


@pytest.mark.parametrize("separator", ["\u2028", "\x85", "\x0b", "\x0c", "\x1c", "\r"])
def test_a_comment_that_became_a_command_is_shown(world, store, separator):
    world.script.write_bytes(f"#!/bin/sh\n# see{separator}exit 0\nexit 2\n".encode())
    trust(world, store)
    world.script.write_bytes(b"#!/bin/sh\n# see\nexit 0\nexit 2\n")

    (change,) = load(world, store).guard.changes()

    assert "+exit 0" in change.difference


@pytest.mark.parametrize(
    ("after", "lines"),
    [
        ("exit 2\n# new\n", ["+# new"]),
        ("exit 2", ["-"]),
    ],
)
def test_only_changed_lines_are_in_the_difference(world, store, after, lines):
    world.script.write_text("#!/bin/sh\nexit 2\n")
    trust(world, store)
    world.script.write_text(f"#!/bin/sh\n{after}")

    (change,) = load(world, store).guard.changes()

    assert [line for line in change.difference[2:] if line[0] in "+-"] == lines


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


@pytest.mark.parametrize(
    "command",
    [
        "anyhook shim --as claude -- '\"${CLAUDE_PROJECT_DIR}\"/guard.sh'",
        "anyhook shim --as terminai -- 'sh \"$''TERMINAI_PROJECT_DIR\"/guard.sh'",
        "anyhook shim --as claude -- ./guard.sh",
    ],
)
def test_a_script_behind_the_shim_is_bound(world, store, command):
    world.configure(command=command)
    subject = load(world, store).guard.subjects()[0]

    assert [script.path for script in subject.scripts] == [world.script]


def test_a_script_that_goes_away_is_a_change(world, store):
    trust(world, store)
    world.script.unlink()

    (change,) = load(world, store).guard.changes()

    assert change.difference[0].endswith("is not there")


def test_a_script_without_a_directory_that_goes_away_is_a_change(world, store):
    world.configure(command="bash guard.sh")
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
    ("more", "what"),
    [
        ({"timeout": 1000}, "definition"),
        ({"name": "other"}, "definition"),
        ({"env": {"A": "1"}}, "definition"),
        ({"command": "./guard.sh x"}, "new"),
    ],
)
def test_a_changed_definition_is_not_trusted(world, store, more, what):
    trust(world, store)
    world.configure(**more)

    (change,) = load(world, store).guard.changes()

    assert change.what == what


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"matcher": "a"}, "definition"),
        ({"sequential": True}, "definition"),
        ({"event": "AfterTool"}, "new"),
    ],
    ids=["matcher", "sequential", "event"],
)
def test_a_hook_that_runs_at_another_time_is_not_trusted(world, store, change, what):
    trust(world, store)
    event = change.pop("event", "BeforeTool")
    hook = {"type": "command", "command": "./guard.sh"}
    world.settings("project", {"hooks": {event: [{"hooks": [hook], **change}]}})

    (found,) = load(world, store).guard.changes()

    assert found.what == what


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


def test_an_entry_that_anyhook_did_not_write_is_not_taken_for_a_former_one(world, store):
    trust(world, store)
    (file,) = store.directory.glob("*.json")
    file.write_text('{"hooks": {"gone": 5}}')
    engine = load(world, store)

    assert not decide(engine).denied
    changes, _ = store.changes(world.project, engine.guard.subjects(), agent=engine.agent.name)
    assert [change.what for change in changes] == ["new"]


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


EVIL = "#!/bin/sh\ntouch evil\n"


def runs_evil(world, store, **event):
    asyncio.run(load(world, store).dispatch(WRITE.replace(**event)))
    return bool(list(world.root.rglob("evil")))


def retrust(world, store, command, **more):
    world.configure(command=command, **more)
    trust(world, store)
    asyncio.run(load(world, store).dispatch(WRITE))


def test_a_script_that_becomes_a_directory_does_not_run(world, store):
    script = world.write(world.project / "hooks" / "g.py", "")
    retrust(world, store, "python3 hooks/g.py")
    script.unlink()
    world.write(script / "__main__.py", "open('evil', 'w')")

    assert not runs_evil(world, store)


def test_a_script_that_becomes_a_link_does_not_run(world, store, tmp_path):
    script = world.write(world.project / "hooks" / "g.sh", DENY)
    retrust(world, store, "bash hooks/g.sh")
    outside = world.write(tmp_path / "outside.sh", EVIL)
    script.unlink()
    script.symlink_to(outside)

    assert not runs_evil(world, store)


def test_the_target_of_a_link_is_bound(world, store, tmp_path):
    outside = world.write(tmp_path / "outside.sh", DENY)
    world.script.unlink()
    world.script.symlink_to(outside)
    retrust(world, store, "./guard.sh")
    assert decide(load(world, store)).denied
    world.write(outside, EVIL)

    assert not runs_evil(world, store)


def test_a_script_elsewhere_is_bound(world, store, tmp_path):
    outside = world.write(tmp_path / "outside.sh", DENY)
    retrust(world, store, f"bash {outside}")
    world.write(outside, EVIL)

    assert not runs_evil(world, store)


@pytest.mark.parametrize("command", ["bash hooks/g.sh", 'bash "$GEMINI_CWD/hooks/g.sh"'])
def test_from_another_directory_only_what_was_seen_runs(world, store, command):
    world.write(world.project / "hooks" / "g.sh", DENY)
    retrust(world, store, command)
    world.write(world.project / "sub" / "hooks" / "g.sh", EVIL)

    assert not runs_evil(world, store, cwd=str(world.project / "sub"))
    assert decide(load(world, store)).denied


def test_from_another_directory_a_script_of_the_project_runs(world, store):
    world.configure(command='"$GEMINI_PROJECT_DIR/guard.sh"')
    trust(world, store)
    (world.project / "sub").mkdir()

    decision = asyncio.run(
        load(world, store).dispatch(WRITE.replace(cwd=str(world.project / "sub")))
    )

    assert decision.denied


@pytest.mark.parametrize(
    "command",
    [
        'bash "${GEMINI_PROJECT_DIR:-.}/hooks/g.sh"',
        "bash $PWD/hooks/g.sh",
        'bash "$(pwd)/hooks/g.sh"',
        "bash hooks/*.sh",
        "bash $GEMINI_PROJECT_DIR/hooks/*.sh",
        'bash "$GEMINI_PROJECT_DIR"/hooks/g.*',
        "bash {hooks/g.sh,}",
        "bash -c './hooks/g.sh;true'",
        "cat hooks/g.s? | bash",
        "cd hooks && ./g.sh",
        "HOOK=hooks/g.sh; bash $HOOK",
    ],
)
def test_a_script_is_bound_however_it_is_named(world, store, command):
    script = world.write(world.project / "hooks" / "g.sh", DENY)
    retrust(world, store, command)
    world.write(script, EVIL)

    assert not runs_evil(world, store)


@pytest.mark.parametrize(
    "command",
    [
        "bash hooks/*.sh",
        'bash "$GEMINI_PROJECT_DIR"/hooks/g.*',
        'bash "$GEMINI_PROJECT_DIR/hooks/g.sh"',
        "bash $PWD/hooks/*.sh",
    ],
)
@pytest.mark.parametrize("name", ["[p]", "[x-", "p*", "q?"])
def test_the_path_of_a_project_is_not_a_pattern(tmp_path, command, name):
    """Next to the project is another one, which its path would match."""
    script, other = [tmp_path / top / "project/hooks/g.sh" for top in (name, "p")]
    for path in (script, other):
        path.parent.mkdir(parents=True)
        path.write_text(DENY)
    project = script.parents[1]
    handler = HandlerSpec("command", Layer.PROJECT, Place("s"), command=command)

    files = named_files(handler, project, {"GEMINI_PROJECT_DIR": str(project)})
    assert [file for file in files if file.exists()] == [script]


@pytest.mark.parametrize("command", ["bash $PWD/hooks/g.sh", 'bash "$(pwd)/hooks/g.sh"'])
@pytest.mark.parametrize("name", ["a$b", "a$HOME"])
def test_a_dollar_in_the_path_of_a_project_is_no_variable(tmp_path, command, name):
    """What lies next to the script is bound, too, as in a project with another name."""
    world = World(tmp_path, project=name)
    world.write(world.project / "hooks/g.sh", DENY)
    handler = {"type": "command", "command": command}
    world.settings("project", {"hooks": {"BeforeTool": [{"hooks": [handler]}]}})

    [subject] = world.load(trust_once=False).guard.subjects()

    assert [tree.root for tree in subject.trees] == [world.project / "hooks"]


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("sh hooks/g", "hooks/g.sh"),
        ("python3 hooks", "hooks/__main__.py"),
        ("python3 -mpk.mod", "pk/mod.py"),
        ("bash hooks/{g,}.sh", "hooks/g.sh"),
        ("sh ~+/hooks/x", "hooks/x"),
        ("sh hooks/x\\\n.sh", "hooks/x.sh"),
        ("sh -c 'sh \"hooks/x y.sh\"'", "hooks/x y.sh"),
        ("cd -P hooks && sh x.sh", "hooks/x.sh"),
        ("cd -- hooks && sh x.sh", "hooks/x.sh"),
        ("env -C hooks sh x.sh", "hooks/x.sh"),
        ("make -C hooks check", "hooks/Makefile"),
        ("npm --prefix hooks test", "hooks/package.json"),
    ],
)
def test_a_file_is_bound_however_it_is_found(world, store, command, file):
    path = world.write(world.project / file, "before")
    world.configure(command=command)
    trust(world, store)
    path.write_text("after")

    (change,) = load(world, store).guard.changes()

    assert change.what == "script"


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("for f in hooks/*.sh; do sh $f; done", "hooks/b.sh"),
        ("make check", "GNUmakefile"),
        ("python3 -m black", "black.py"),
        ("sh hooks/a", "hooks/a.sh"),
    ],
)
def test_a_file_that_appears_under_a_loaded_engine_is_noticed(world, store, command, file):
    world.write(world.project / "hooks" / "z.sh", "true\n")
    world.configure(command=command)
    trust(world, store)
    engine = load(world, store)
    assert decide(engine).results[0].status != "withheld"

    world.write(world.project / file, "")

    assert decide(engine).results[0].status == "withheld"


@pytest.mark.parametrize(
    "command",
    [
        "run-parts hooks",
        "find hooks -type f -exec sh {} +",
        "sh $(echo hooks/x.sh)",
    ],
)
def test_what_cannot_be_bound_is_shown(world, store, command):
    world.write(world.project / "hooks" / "z.sh", "true\n")
    world.configure(command=command)

    (subject,) = load(world, store).guard.subjects()

    assert subject.unclear


def test_a_trusted_project_is_the_same_through_a_link(world, store, tmp_path):
    trust(world, store)
    (tmp_path / "link").symlink_to(world.project)
    engine = Engine.load(
        tmp_path / "link", home=world.home, environ=world.environ, trust_store=store
    )

    assert asyncio.run(engine.dispatch(WRITE)).denied


@pytest.mark.parametrize(
    "command",
    [
        "x" * 3_000_000,
        "${a:-" * 20_000,
        "cat /*/*/*/*/*/*/none",
        "echo " + "{a,b}" * 50,
        "$(" * 20_000,
    ],
    ids=["long", "defaults", "globs", "braces", "substitutions"],
)
@pytest.mark.timeout(20)
def test_nothing_that_a_stranger_writes_takes_long_to_read(world, store, command):
    world.configure(command=command)
    world.settings(
        "user", {"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": DENY_LINE}]}]}}
    )

    assert decide(load(world, store)).denied


DENY_LINE = "echo no >&2; exit 2"


def test_a_broken_judgement_costs_no_hook_of_the_user(world, store, monkeypatch):
    world.settings(
        "user", {"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": DENY_LINE}]}]}}
    )
    hook = {"type": "command", "command": "./guard.sh"}
    world.settings("project", {"hooks": {"BeforeTool": [{"matcher": r"(\w+)+!", "hooks": [hook]}]}})
    trust(world, store)
    monkeypatch.setattr("anyhook.trust.subjects.command_files", lambda *_, **__: 1 / 0)
    engine = load(world, store)

    decision = asyncio.run(engine.dispatch(WRITE.replace(tool_name="a" * 60)))

    assert decision.reason == "no"
    assert [str(r.status) for r in decision.results] == ["withheld", "ran"]
    assert "cannot be judged" in engine.diagnostics[-1].message


def test_a_store_that_is_nested_without_end_trusts_nothing(world, store):
    trust(world, store)
    (file,) = store.directory.glob("*.json")
    file.write_text("[" * 100_000)

    assert [d.code for d in load(world, store).diagnostics] == ["project-untrusted", "trust-store"]


def test_a_script_in_the_environment_is_bound(world, store):
    script = world.write(world.project / "hooks" / "env.sh", "true\n")
    retrust(world, store, "bash -c true", env={"BASH_ENV": "hooks/env.sh"})
    world.write(script, EVIL)

    assert not runs_evil(world, store)


@pytest.mark.slow
def test_a_missing_program_that_appears_does_not_run(world, store):
    retrust(world, store, "./hooks/run")
    engine = load(world, store)
    decide(engine)
    world.write(world.project / "hooks" / "run", EVIL)

    decide(engine)

    assert not runs_evil(world, store)


@pytest.mark.slow
def test_trust_that_is_revoked_ends_in_a_loaded_engine(world, store):
    trust(world, store)
    engine = load(world, store)
    assert decide(engine).denied

    store.revoke(world.project)

    assert decide(engine).results[0].status == "withheld"


@pytest.mark.slow
def test_trust_that_is_given_begins_in_a_loaded_engine(world, store):
    engine = load(world, store)
    assert not decide(engine).denied

    trust(world, store)

    assert decide(engine).denied


def test_words_that_only_the_shell_can_resolve_are_reported(world, store):
    world.configure(command='bash "$HOOKS/g.sh" $(find . -name x/y) ./guard.sh')

    (subject,) = load(world, store).guard.subjects()

    assert any("$HOOKS/g.sh" in text for text in subject.unclear)


def test_a_pattern_of_an_untrusted_project_is_not_evaluated(world, store):
    hook = {"type": "command", "command": "true"}
    world.settings("project", {"hooks": {"BeforeTool": [{"matcher": r"(\w+)+!", "hooks": [hook]}]}})
    event = WRITE.replace(tool_name="mcp_" + "a" * 60)

    decision = asyncio.run(load(world, store).dispatch(event))

    assert decision.results[0].status == "withheld"


def test_a_pattern_counts_from_the_moment_of_trust(world, store):
    hook = {"type": "command", "command": "./guard.sh"}
    world.settings("project", {"hooks": {"BeforeTool": [{"matcher": "read_.*", "hooks": [hook]}]}})
    engine = load(world, store)
    assert decide(engine).results[0].status == "withheld"

    trust(world, store)

    assert decide(engine).results == ()


def test_a_hook_that_cannot_be_judged_does_not_run(world, store, monkeypatch):
    trust(world, store)
    engine = load(world, store)
    decide(engine)
    monkeypatch.setattr("anyhook.engine.guard.TrustGuard._untrusted_file", lambda *_: 1 / 0)

    (result,) = decide(engine).results

    assert (result.status, result.error) == ("withheld", "ZeroDivisionError: division by zero")


# -- what is shown before it is trusted


OPTIONS = [
    (
        {
            "type": "http",
            "url": "https://host.example/x?key=1",
            "headers": {"X-Key": "Bearer $TOKEN"},
            "allowedEnvVars": ["TOKEN"],
            "if": "Bash(rm *)",
        },
        [
            "kind: http",
            "url: https://host.example/x?key=1",
            "headers.X-Key: Bearer $TOKEN",
            'allowed_variables: ["TOKEN"]',
            "if: Bash(rm *)",
        ],
    ),
    (
        {"type": "prompt", "prompt": "one\n  script: \x1b[31mtwo", "model": "small"},
        ["kind: prompt", "| one", r"|   script: \x1b[31mtwo", "model: small"],
    ),
    (
        {"type": "mcp_tool", "server": "git", "tool": "look", "input": {"path": ["a"]}},
        ["kind: mcp", "server: git", "tool: look", 'input.path: ["a"]'],
    ),
    (
        {"type": "command", "command": "./guard.sh", "shell": "powershell", "async": True},
        ["runs: ./guard.sh", "shell: powershell", "background: "],
    ),
    (
        {"type": "prompt", "prompt": "p" * 5000},
        ["… 1000 more characters; see --json for all"],
    ),
]


@pytest.mark.parametrize(("hook", "words"), OPTIONS)
def test_everything_that_trust_covers_is_shown(world, run, monkeypatch, hook, words):
    for name, value in world.environ.items():
        monkeypatch.setenv(name, value)
    text = json.dumps({"hooks": {"PreToolUse": [{"hooks": [hook]}]}})
    world.write(world.project / ".claude" / "settings.json", text)
    arguments = ("trust", "--show", "--agent", "claude", "--project", str(world.project))

    code, out, _ = run(*arguments)
    (shown,) = json.loads(run(*arguments, "--json")[1])["hooks"]

    assert code == 1
    assert [word for word in words if word not in out] == []
    assert "\x1b" not in out
    assert shown["if"] == hook.get("if")
    assert shown["background"] is hook.get("async", False)
    assert shown["on_failure"] == "continue"
    for member in ("url", "headers", "prompt", "model", "server", "tool", "input", "shell"):
        assert shown["options"].get(member) == hook.get(member)


def test_a_long_name_and_the_order_are_shown(world, run, monkeypatch):
    for name, value in world.environ.items():
        monkeypatch.setenv(name, value)
    name = "n" * 70
    hook = {"type": "command", "name": name, "command": "./guard.sh"}
    world.settings("project", {"hooks": {"BeforeTool": [{"sequential": True, "hooks": [hook]}]}})
    arguments = ("trust", "--show", "--project", str(world.project))

    out = run(*arguments)[1]
    (shown,) = json.loads(run(*arguments, "--json")[1])["hooks"]

    assert f"name: {name}" in out
    assert "in order: " in out
    assert shown["sequential"] is True


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
        ("x" * 5000, []),
        ("echo " + "x" * 300, []),
        ("echo missing", []),
        ("./a.sh 'unbalanced", ["a.sh"]),
        ("$OTHER/a.sh", []),
        ("~nobody-here/x.sh", []),
        ("cd sub; ./b.py", ["b.py", "sub/b.py"]),
        ("cd sub && cd .. && ./a.sh", ["a.sh", "sub/a.sh"]),
        ("bash -c './a.sh;true'", ["a.sh"]),
        ('bash "${GEMINI_PROJECT_DIR:-.}/a.sh"', ["a.sh"]),
        ('bash "${UNSET:-sub}/b.py"', ["sub/b.py"]),
        ("bash $PWD/a.sh", ["a.sh"]),
        ('bash "$(pwd)/a.sh"', ["a.sh"]),
        ("bash `pwd`/a.sh", ["a.sh"]),
        ("bash *.sh", ["a.sh"]),
        ("cat sub/b.p? | python3", ["sub/b.p?", "sub/b.py"]),
        ("bash {a.sh,}", ["a.sh"]),
        ("./run", ["run"]),
        ("jq '.a/.b' x", [".a/.b"]),  # could be a file, and is none
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


# -- changed between the check and the start

CHANGED = "#!/bin/sh\necho ran > ran\n"


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_script_that_changes_while_its_hook_waits_for_a_place_does_not_run(world, store, backend):
    holds = "touch held; until test -e go; do sleep 0.01; done"
    world.settings("user", hooks_of(holds, event="AfterTool"))
    trust(world, store)
    engine = world.load(trust_once=False, trust_store=store, max_processes=1)
    decisions = []

    async def decide_later(event):
        decisions.append(await engine.dispatch(event))

    async def change_while_it_waits():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(
                decide_later, AfterTool(tool_name="write_file", tool_input={}, tool_response={})
            )
            await anyio.to_thread.run_sync(until, (world.project / "held").exists)
            tasks.start_soon(decide_later, WRITE)
            await anyio.wait_all_tasks_blocked()
            world.script.write_text(CHANGED)
            (world.project / "go").touch()

    anyio.run(change_while_it_waits, backend=backend)

    assert [str(d.results[0].status) for d in decisions] == ["ran", "withheld"]
    assert [d.code for d in decisions[1].diagnostics] == ["trust-changed"]
    assert not (world.project / "ran").exists()


def test_a_script_that_changes_while_its_hook_waits_in_the_background_does_not_run(tmp_path, store):
    world = World(tmp_path, agent="claude")
    script = world.write(world.project / "guard.sh", DENY)
    waits = "until test -e go; do sleep 0.01; done"
    several = [{"command": f"{waits}; : {i}", "async": True} for i in range(MAX_RUNNING)]
    world.settings("user", hooks_of(*several, event="PreToolUse"))
    own = {"command": "./guard.sh", "async": True}
    world.settings("local", hooks_of(own, event="PreToolUse"))
    trust(world, store)
    engine = load(world, store)
    background = engine.background
    decide(engine)
    assert decide(engine).denied is False  # both events wait for places

    script.write_text(CHANGED)
    (world.project / "go").touch()

    assert background.wait(20)
    late = [str(result.status) for result in background.collect()]
    assert (late.count("withheld"), late.count("ran")) == (2, 2 * MAX_RUNNING)
    assert not (world.project / "ran").exists()
    engine.close()


def hooks_of(*handlers, event="BeforeTool"):
    """Write settings with a definition for each handler."""
    whole = [h if isinstance(h, dict) else {"command": h} for h in handlers]
    return {"hooks": {event: [{"hooks": [{"type": "command", **h}]} for h in whole]}}


def test_a_changed_timeout_is_shown_as_a_change(world, capsys, monkeypatch):
    monkeypatch.chdir(world.project)
    monkeypatch.setenv("HOME", str(world.home))
    hook = {"type": "command", "command": "echo no >&2; exit 2", "timeout": 30000}
    settings = {"hooks": {"BeforeTool": [{"hooks": [hook]}]}}
    world.settings("project", settings)
    assert main(["trust", "--yes"]) == 0
    hook["timeout"] = 60000
    world.settings("project", settings)
    capsys.readouterr()

    code = main(["trust", "--show"])

    out = capsys.readouterr().out
    assert code == 1
    assert out.startswith("changed  echo")
    assert "-timeout: 30" in out
    assert "+timeout: 60" in out
    assert "new  " not in out
    main(["list", "--json"])
    (row,) = json.loads(capsys.readouterr().out)
    assert row["state"] == "changed"


def test_a_second_hook_with_the_same_command_is_new(world, capsys, monkeypatch):
    monkeypatch.chdir(world.project)
    monkeypatch.setenv("HOME", str(world.home))
    hook = {"type": "command", "command": "true"}
    world.settings("project", {"hooks": {"BeforeTool": [{"matcher": "a", "hooks": [hook]}]}})
    main(["trust", "--yes"])
    both = [{"matcher": name, "hooks": [hook]} for name in "ab"]
    world.settings("project", {"hooks": {"BeforeTool": both}})
    capsys.readouterr()

    main(["trust", "--show"])

    assert capsys.readouterr().out.startswith("new  true")


def test_the_command_that_is_suggested_names_the_project(world, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hook = {"type": "command", "command": "true"}
    world.settings("project", {"hooks": {"BeforeTool": [{"hooks": [hook]}]}})

    (problem,) = world.load(trust_once=False).diagnostics

    assert f"`anyhook trust --agent gemini --project {world.project}`" in problem.message


def test_the_command_in_a_message_is_right_in_the_current_directory(world, monkeypatch):
    hook = {"type": "command", "command": "true"}
    world.settings("project", {"hooks": {"BeforeTool": [{"hooks": [hook]}]}})
    engine = world.load(trust_once=False)
    commands = []

    for directory in (world.project, world.home, world.project):
        monkeypatch.chdir(directory)
        (problem,) = engine.guard.diagnostics()
        commands.append(problem.message.partition("look at it with ")[2].strip("`"))

    short = "anyhook trust --agent gemini"
    assert commands == [short, f"{short} --project {world.project}", short]

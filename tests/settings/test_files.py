"""A user's file is read without waiting, compared by identity, and edited under a lock."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
import subprocess
import sys
import time

import pytest

from anyhook import BeforeTool, TrustStore
from anyhook.authoring.inspect import scan
from anyhook.migrate.commands import is_portable
from tests.world import World

WRITE = BeforeTool(tool_name="write_file", tool_input={})
SPARSE = 1024**3


def settings(*lines):
    hooks = [{"type": "command", "command": line} for line in lines]
    return {"hooks": {"BeforeTool": [{"hooks": hooks}]}}


def decide(engine):
    return asyncio.run(engine.dispatch(WRITE))


def sparse(path):
    with path.open("wb") as stream:
        stream.truncate(SPARSE)


def kernel_log(path):
    path.symlink_to("/proc/kmsg")


ODD = {
    "pipe": os.mkfifo,
    "zero": lambda path: path.symlink_to("/dev/zero"),
    "full": lambda path: path.symlink_to("/dev/full"),
    "kernel-log": kernel_log,
    "sparse": sparse,
}
"""What may stand in the place of a file, and must neither be waited for nor fill the memory."""


@pytest.fixture(params=ODD.values(), ids=ODD)
def odd(request):
    """Put something odd in the place of a file."""

    def put(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        request.param(path)
        return path

    return put


# -- reading


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "place",
    [
        "extensions/ext/gemini-extension.json",
        "extensions/extension-enablement.json",
        "extensions/ext/.gemini-extension-install.json",
        "extensions/ext/hooks/hooks.json",
        "settings.json",
    ],
)
def test_an_odd_file_costs_only_itself(world, odd, place):
    world.extension("ext", settings("true"))
    world.settings("system", settings("echo no >&2; exit 2"))
    odd(world.home / ".gemini" / place)

    assert decide(world.load()).denied


@pytest.mark.timeout(30)
def test_an_odd_environment_file_of_an_extension_is_left_out(world, odd):
    base = world.extension("ext", settings("echo no >&2; exit 2"))
    manifest = {"name": "ext", "version": "1.0.0", "settings": [{"name": "k", "envVar": "KEY"}]}
    world.write(base / "gemini-extension.json", json.dumps(manifest))
    odd(base / ".env")

    assert decide(world.load()).denied


@pytest.mark.timeout(30)
@pytest.mark.parametrize("name", ["record", "manifest", "hooks"])
def test_an_odd_file_of_a_plugin_costs_only_itself(tmp_path, odd, name):
    world = World(tmp_path, agent="claude")
    hooks = {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "exit 2"}]}]}}
    base = world.plugin("p@m", hooks)
    odd(
        {
            "record": world.home / ".claude" / "plugins" / "installed_plugins.json",
            "manifest": base / ".claude-plugin" / "plugin.json",
            "hooks": base / "hooks" / "hooks.json",
        }[name]
    )
    settings = {**hooks, "enabledPlugins": {"p@m": True}}
    world.settings("user", settings)

    assert decide(world.load()).denied


@pytest.mark.timeout(30)
def test_an_odd_script_is_neither_waited_for_nor_loaded(world, odd):
    store = TrustStore(world.root / "trust")
    script = odd(world.project / "guard.py")
    world.settings("project", settings("python3 guard.py"))
    engine = world.load(trust_once=False, trust_store=store)

    store.trust(world.project, engine.guard.subjects(), agent="gemini")

    assert not scan(script)
    assert not is_portable("python3 guard.py", [script])


@pytest.mark.timeout(30)
def test_an_odd_trust_store_trusts_nothing(world, odd):
    store = TrustStore(world.root / "trust")
    world.settings("project", settings("exit 2"))
    engine = world.load(trust_once=False, trust_store=store)
    store.trust(world.project, engine.guard.subjects(), agent="gemini")
    (file,) = store.directory.glob("*.json")
    odd(file)

    engine = world.load(trust_once=False, trust_store=store)

    assert [d.code for d in engine.diagnostics] == ["project-untrusted", "trust-store"]


@pytest.mark.timeout(30)
@pytest.mark.parametrize("arguments", [("fire", "--event-file"), ("fire", "BeforeTool", "--input")])
def test_an_odd_file_of_events_is_a_usage_error(world, run, odd, arguments):
    path = str(odd(world.root / "events"))
    if "--input" in arguments:
        path = f"@{path}"

    code, _, err = run(*arguments, path)

    assert code == 64
    problems = ("cannot be read", "is not readable", "no event", "not JSON")
    assert any(problem in err for problem in problems)


@pytest.mark.slow
def test_events_may_come_through_a_pipe(world):
    payload = {"hook_event_name": "SessionStart", "source": "startup"}
    program = f"{shlex.quote(sys.executable)} -m anyhook fire --json"
    line = f"{program} --event-file <(printf %s '{json.dumps(payload)}')"

    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["event"]["source"] == "startup"


@pytest.mark.timeout(30)
def test_an_odd_file_is_not_edited(world, run, odd):
    world.extension("ext", settings("true"))
    path = odd(world.files["user"])
    before = os.lstat(path).st_ino

    code, _, err = run("disable", "true")

    assert code == 64
    assert "it cannot be read" in err or "it is read-only" in err
    assert os.lstat(path).st_ino == before


# -- identity

DENIES = settings("echo no >&2; exit 2")
ALLOWS = settings("echo no >&2; exit 0")


def edit_in_place(path, text):
    """Write other content of the same size and with the same time of modification."""
    before = path.stat()
    assert before.st_size == len(text)
    with path.open("r+") as stream:
        stream.write(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("watch", [True, False])
def test_settings_edited_in_place_with_their_old_time_are_read_again(world, watch):
    file = world.settings("user", ALLOWS)
    engine = world.load(watch=watch)
    assert not decide(engine).denied

    edit_in_place(file, json.dumps(DENIES, indent=2))

    if not watch:
        engine = world.load()
    assert decide(engine).denied


def test_an_edit_within_one_tick_of_the_clock_is_seen(world):
    """The time of a file advances in steps of milliseconds: two edits can have the same one."""
    file = world.settings("user", ALLOWS)
    texts = [json.dumps(content, indent=2) for content in (ALLOWS, DENIES)]
    engine = world.load(watch=True)
    for number in range(60):
        edit_in_place(file, texts[number % 2])
        assert decide_plan(engine) == number % 2


def decide_plan(engine):
    """Tell which of the two texts an engine that watches has read, without starting anything."""
    if engine.hooks.is_stale():
        engine.reload()
    (definition,) = engine.hooks.definitions
    return int(definition.handlers[0].command.endswith("2"))


# -- editing

KILLED = """
import os, signal, sys
from pathlib import Path
from anyhook.settings.write import write_atomically
os.fsync = lambda _descriptor: os.kill(os.getpid(), signal.SIGKILL)
path = Path(sys.argv[1])
write_atomically(path, "[0]", expected=path.read_text())
"""
ADDS = """
import json, sys
from pathlib import Path
from anyhook.errors import SettingsError
from anyhook.settings.write import write_atomically
path, name = Path(sys.argv[1]), sys.argv[2]
for number in range(40):
    before = path.read_text()
    after = json.dumps({**json.loads(before), f"{name}{number}": 1})
    try:
        write_atomically(path, after, expected=before)
    except SettingsError:
        continue
    print(f"{name}{number}")
"""


@pytest.mark.slow
def test_edits_after_a_killed_one_are_locked(world):
    file = world.write(world.home / "settings.json", "{}")
    killed = subprocess.run([sys.executable, "-c", KILLED, str(file)], check=False)
    assert killed.returncode == -signal.SIGKILL
    for lock in file.parent.glob("settings.json.lock"):
        os.utime(lock, (time.time() - 60,) * 2)

    editors = [
        subprocess.Popen([sys.executable, "-c", ADDS, str(file), name], stdout=subprocess.PIPE)
        for name in "abc"
    ]
    done = [word for editor in editors for word in editor.communicate()[0].decode().split()]

    assert set(done) <= json.loads(file.read_text()).keys()
    assert len(done) >= 40
    assert not list(file.parent.glob("settings.json.lock"))


@pytest.mark.parametrize("place", ["settings.json", ""])
@pytest.mark.parametrize("order", ["disable", "enable"])
def test_an_edit_through_a_link_out_of_the_project_is_refused(world, run, order, place):
    outside = world.root / "elsewhere"
    content = {**settings("true"), "hooksConfig": {"disabled": ["true"]}}
    if order == "disable":
        content["hooksConfig"]["disabled"] = []
    file = world.write(outside / "settings.json", json.dumps(content))
    before = file.read_text()
    own = world.files["project"].parent
    own.parent.mkdir(exist_ok=True)
    if place:
        own.mkdir()
        (own / place).symlink_to(file)
    else:
        own.symlink_to(outside)

    code, _, err = run(order, "true")

    assert code == 64
    assert "outside the project" in " ".join(err.split())
    assert file.read_text() == before


# -- settings that are rewritten while an engine watches them


def codes(found):
    return [diagnostic.code for diagnostic in found.diagnostics]


@pytest.mark.parametrize(
    "text",
    ["", "\n", '{"hooks": {"BeforeTool": [', "// mine\n", "[]", "null", '{"hooks": 1}x'],
)
def test_a_broken_rewrite_leaves_the_last_good_version_in_force(world, text):
    file = world.settings("user", DENIES)
    engine = world.load(watch=True)
    with file.open("w") as stream:
        stream.write(text)

    decisions = [decide(engine) for _ in range(3)]

    assert [decision.denied for decision in decisions] == [True] * 3
    broken = "settings-shape" if text in ("[]", "null") else "settings-syntax"
    assert [codes(decision) for decision in decisions] == [[broken, "settings-kept"], [], []]
    assert "1 hook(s) stay in force" in engine.diagnostics[1].message

    world.settings("user", ALLOWS)

    assert not decide(engine).denied
    assert engine.diagnostics == ()


def test_a_file_that_was_never_good_has_no_hooks(world):
    world.settings("user", "{")
    engine = world.load(watch=True)

    assert decide(engine).results == ()
    assert codes(engine) == ["settings-syntax"]


def test_a_file_that_becomes_unreadable_stays_in_force(world):
    file = world.settings("user", DENIES)
    engine = world.load(watch=True)
    file.unlink()
    os.mkfifo(file)

    assert decide(engine).denied


def test_a_deleted_file_is_a_deletion_and_is_reported(world):
    file = world.settings("user", DENIES)
    engine = world.load(watch=True)
    file.unlink()

    first, second = decide(engine), decide(engine)

    assert (first.denied, codes(first)) == (False, ["settings-gone"])
    assert (second.denied, codes(second)) == (False, [])


def test_a_switch_of_a_broken_file_stays_in_force(world):
    world.settings("system", settings("exit 2"))
    file = world.settings("system", {**settings("exit 2"), "hooksConfig": {"disabled": ["exit 2"]}})
    engine = world.load(watch=True)
    file.write_text("{")

    assert decide(engine).results == ()


def test_hooks_of_an_extension_stay_while_its_manifest_is_rewritten(world):
    base = world.extension("ext", DENIES)
    engine = world.load(watch=True)
    (base / "gemini-extension.json").write_text("{")

    decision = decide(engine)

    assert decision.denied
    assert codes(decision) == ["extension-unreadable"]


def test_hooks_of_a_plugin_stay_while_its_record_is_rewritten(tmp_path):
    world = World(tmp_path, agent="claude")
    hooks = {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "exit 2"}]}]}}
    world.plugin("p@m", hooks)
    engine = world.load(watch=True)
    (world.home / ".claude" / "plugins" / "installed_plugins.json").write_text("")

    assert decide(engine).denied


REWRITES = """
import sys
path, text = sys.argv[1:]
while True:
    with open(path, "w") as stream:
        stream.write(text)
"""


@pytest.mark.slow
def test_no_event_passes_a_guard_whose_file_is_rewritten_all_the_time(world):
    file = world.settings("user", DENIES)
    engine = world.load(watch=True)
    arguments = [sys.executable, "-c", REWRITES, str(file), json.dumps(DENIES)]
    with subprocess.Popen(arguments) as writer:
        try:
            denied = [decide(engine).denied for _ in range(40)]
        finally:
            writer.kill()

    assert denied == [True] * 40

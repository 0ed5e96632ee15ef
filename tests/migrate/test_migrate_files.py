"""`anyhook migrate` on settings files that are broken, hostile, locked, shared or in motion."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import time

import pytest

from anyhook.errors import SettingsError
from anyhook.settings.edit import add_item
from anyhook.settings.jsonc import parse
from tests.answering import answer
from tests.waiting import until

pytestmark = pytest.mark.slow

ARGUMENTS = ("migrate", "--from", "claude", "--to", "gemini", "--yes")
COMMAND = [sys.executable, "-P", "-m", "anyhook"]
HOOK = {"matcher": "Bash", "hooks": [{"type": "command", "command": "./guard.sh"}]}
SOURCE = {"hooks": {"PreToolUse": [HOOK]}}
TARGET = '{\n  // mine\n  "theme": "dark", // keep\n}\n'


@pytest.fixture
def source(world):
    path = world.project / ".claude" / "settings.json"
    world.write(path, json.dumps(SOURCE, indent=2))
    return path


@pytest.fixture
def target(world):
    (world.project / ".gemini").mkdir()
    return world.project / ".gemini" / "settings.json"


@pytest.fixture(params=["source", "target"])
def side(request, source, target):
    """The file that is hostile; the other one is fine."""
    return {"source": source, "target": target}[request.param]


def everything(world):
    """Read all that a test's user has: names, kinds, modes, links and bytes."""
    found = {}
    for path in sorted(world.root.rglob("*")):
        status = path.lstat()
        content = None
        if path.is_symlink():
            content = os.readlink(path)
        elif stat.S_ISREG(status.st_mode):
            content = path.read_bytes()
        found[str(path.relative_to(world.root))] = (stat.filemode(status.st_mode), content)
    return found


def words(text):
    return " ".join(text.split())


def joined(text):
    """Undo the folding of lines, which cuts paths anywhere."""
    return "".join(text.split())


def refused(world, run, path, *told):
    """Migrate, and expect a clear error that names the file and changes nothing at all."""
    before = everything(world)
    code, _, err = run(*ARGUMENTS)

    assert code in (1, 64), err
    assert joined(str(path)) in joined(err)
    for text in told:
        assert joined(text) in joined(err)
    assert everything(world) == before


def migrated(path):
    return parse(path.read_text(encoding="utf-8-sig"), str(path)).value["hooks"]["BeforeTool"]


def done(run, target, kept=None):
    """Migrate, and expect the hook in the target, and what was there before beside it."""
    before = target.read_bytes() if target.exists() else None
    code, _, err = run(*ARGUMENTS)

    assert code == 0, err
    assert "shim --as claude" in migrated(target)[0]["hooks"][0]["command"]
    left = {path.name for path in target.resolve().parent.iterdir()}
    copy = target.resolve().with_name("settings.json.bak")
    if before is None:
        assert left == {"settings.json"}
    else:
        assert (kept or copy).read_bytes() == before
        assert left >= {"settings.json", (kept or copy).name}
    assert not {name for name in left if name.startswith(".") or name.endswith(".lock")}


# -- what a file holds


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        (b'{\n  "a": 1\n  "b": 2\n}\n', 3, "a comma is missing"),
        (b'{"hooks": {"PreToolUse": [', 1, ""),
        (b"{'a': 1}", 1, "double quotes"),
        (b"{}\n{}\n", 2, "only one object"),
        (b"{\n/* no end", 2, "no end"),
        (b'{"a": NaN}', 0, "NaN"),
        (b'{"a": "\n"}', 1, "end of its line"),
        (b"no", 1, ""),
        (b'{"a": 1}\0', 1, ""),
        (b"[]", 0, "object"),
        (b"null", 0, "object"),
        (b'"text"', 0, "object"),
        (b"\xff\xfe{\0}\0", 0, "UTF-8"),
        (b'{\n"a": "\xe9"\n}', 0, "UTF-8"),
        (b"{" * 100_000, 1, ""),
        (b"[" * 100_000 + b"]" * 100_000, 0, ""),
        (b'{"a": ' + b"1" * 5000 + b"}", 0, ""),
    ],
    ids=[
        "comma", "torn", "quotes", "two", "comment", "nan", "break", "word", "null", "list",
        "nothing", "string", "utf-16", "latin-1", "objects", "deep", "digits",
    ],
)  # fmt: skip
def test_what_is_no_settings_file_is_refused(world, run, side, text, line, told):
    side.write_bytes(text)

    refused(world, run, f"{side}:{line}:" if line else side, told)


def test_a_huge_file_is_refused(world, run, side):
    side.write_bytes(b'{"a": "' + b"x" * 1_100_000 + b'"}')

    refused(world, run, side, "larger than")


@pytest.mark.parametrize("text", ["", "\n\n", "// mine\n", "/* mine */", "\ufeff", "\ufeff// a\n"])
def test_a_target_that_holds_nothing_gets_the_hooks(world, run, source, target, text):
    world.write(target, text)

    done(run, target)

    assert target.read_text().startswith(text)


@pytest.mark.parametrize("text", ["", "\n\n", "// mine\n", "\ufeff"])
def test_a_source_that_holds_nothing_is_left_alone(world, run, source, target, text):
    world.write(source, text)
    before = everything(world)

    code, out, err = run(*ARGUMENTS)

    assert everything(world) == before
    assert code in (0, 64)
    assert joined(".claude/settings.json") in joined(out + err)


TEXTS = {
    "byte order mark": "\ufeff" + TARGET,
    "CRLF": TARGET.replace("\n", "\r\n"),
    "tabs": TARGET.replace("  ", "\t"),
    "trailing commas": '{"a": [1, 2,], "hooks": {"BeforeTool": [],},}',
    "duplicate keys": '{"a": 1, "a": 2, "hooks": {"x": 1}, "hooks": {"BeforeTool": []}}\n',
    "one line": '{"a":1}',
    "no last newline": '{\n    "a": 1\n}',
    "characters": '{\n  "é\\u2028": "\\ud83d\\ude00 😀"\n}\n',
    "lone surrogate": '{\n  "a": "\\ud800"\n}\n',
    "deep": '{"a": ' + "[" * 150 + "]" * 150 + "}",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_targets_own_text_stays(world, run, source, target, text):
    world.write(target, text)
    old = parse(text).value

    done(run, target)

    new = parse(target.read_bytes().decode()).value
    assert {k: v for k, v in new.items() if k != "hooks"} == {
        k: v for k, v in old.items() if k != "hooks"
    }
    after = target.read_bytes().decode()
    assert ("\r\n" in text) == ("\r\n" in after)
    assert after.count("\n") == after.count("\r\n") or "\r\n" not in text
    for line in text.strip("{}\ufeff\r\n").splitlines():
        assert line.rstrip("}]{,\r") in after or "hooks" in line
    assert run(*ARGUMENTS)[0] == 0
    assert target.read_bytes().decode() == after


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("  ", "\t"),
        lambda text: text.replace("]", ",]").replace("}", ",}") + "// end",
        lambda text: text.replace('{\n  "hooks"', '{\n  "hooks": 3, "hooks"', 1),
    ],
    ids=["byte order mark", "CRLF", "tabs", "trailing commas", "duplicate keys"],
)
def test_a_source_is_read_whatever_its_style(world, run, source, target, change):
    text = change(json.dumps(SOURCE, indent=2))
    world.write(source, text)

    done(run, target)

    assert source.read_bytes().decode() == text


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{\n"hooks": []}', 2),
        ('{\n"hooks": "x"}', 2),
        ('{\n"hooks": null}', 2),
        ('{"hooks": {\n\n"BeforeTool": {}}}', 3),
        ('{"hooks": {\n"BeforeTool": 3}}', 2),
    ],
)
def test_hooks_of_the_wrong_kind_are_in_the_way_of_a_target(world, run, source, target, text, line):
    world.write(target, text)

    refused(world, run, f"{target}:{line}:", "must be")


@pytest.mark.parametrize("hooks", [[], "x", 3, {"PreToolUse": 3}, {"PreToolUse": [3]}])
def test_hooks_of_the_wrong_kind_in_a_source_are_reported(world, run, source, target, hooks):
    world.write(source, json.dumps({"hooks": hooks}))
    before = everything(world)

    code, out, _ = run(*ARGUMENTS)

    assert code == 0
    assert "must be" in words(out) or "is an object" in words(out)
    assert everything(world) == before


# -- what is in the place of a file


def test_a_directory_in_the_place_of_a_file_is_refused(world, run, side):
    side.unlink(missing_ok=True)
    side.mkdir()

    refused(world, run, side)


def test_a_pipe_in_the_place_of_a_file_holds_nobody(world, run, side):
    side.unlink(missing_ok=True)
    os.mkfifo(side)

    refused(world, run, side, "not a regular file")


def test_an_endless_device_behind_a_link_fills_nothing(world, run, source, target):
    target = world.home / ".gemini" / "settings.json"
    world.write(world.home / ".claude" / "settings.json", json.dumps(SOURCE))
    target.parent.mkdir()
    target.symlink_to("/dev/zero")
    before = everything(world)

    code, _, err = run(*ARGUMENTS, "--scope", "user")

    assert code == 64
    assert joined(f"{target}: it cannot be read: it is not a regular file") in joined(err)
    assert everything(world) == before


def test_a_file_in_the_place_of_the_directory_is_refused(world, run, source, target):
    target.parent.rmdir()
    target.parent.write_text("mine")

    refused(world, run, target)


def test_a_link_inside_the_project_is_followed_and_kept(world, run, source, target):
    real = world.write(world.project / "common" / "settings.json", TARGET)
    target.symlink_to("../common/settings.json")

    done(run, target)

    assert target.is_symlink()
    assert migrated(real)
    assert real.with_name("settings.json.bak").read_text() == TARGET
    assert [path.name for path in target.parent.iterdir()] == ["settings.json"]


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_out_of_the_project_is_refused(world, run, source, target, exists):
    outside = world.home / "settings.json"
    if exists:
        world.write(outside, TARGET)
    target.symlink_to(outside)

    refused(world, run, target, "outside the project", str(outside))


def test_a_directory_that_is_a_link_out_of_the_project_is_refused(world, run, source, target):
    target.parent.rmdir()
    (world.home / ".gemini").mkdir()
    target.parent.symlink_to(world.home / ".gemini")

    refused(world, run, target, "outside the project")


def test_a_link_to_nothing_inside_the_project_is_followed(world, run, source, target):
    target.symlink_to("../common/settings.json")

    assert run(*ARGUMENTS)[0] == 0

    assert target.is_symlink()
    assert migrated(world.project / "common" / "settings.json")


def test_a_link_to_itself_is_refused(world, run, side):
    side.unlink(missing_ok=True)
    side.symlink_to("settings.json")

    refused(world, run, side)


def test_other_names_of_the_same_file_keep_what_it_held(world, run, source, target):
    world.write(target, TARGET)
    os.link(target, target.with_name("other.json"))

    done(run, target)

    assert target.with_name("other.json").read_text() == TARGET


# -- who may write it


def test_a_read_only_file_is_refused(world, run, source, target):
    world.write(target, TARGET)
    target.chmod(0o444)

    refused(world, run, target, "read-only")


def test_a_read_only_source_is_no_trouble(world, run, source, target):
    source.chmod(0o444)

    done(run, target)


@pytest.mark.parametrize("text", [TARGET, None], ids=["file", "no file"])
def test_a_read_only_directory_is_refused(world, source, target, text):
    if text is not None:
        world.write(target, text)
    target.parent.chmod(0o555)
    before = everything(world)

    ended = migrate_in_a_process(world, location=STOPS_ROOT if os.geteuid() == 0 else ())

    assert everything(world) == before
    target.parent.chmod(0o755)
    assert ended.returncode == 64, ended.stderr
    assert joined(f"{target}: it cannot be written") in joined(ended.stderr)


STOPS_ROOT = ("setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override")
"""Root without the right to write everywhere."""


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_the_mode_of_the_file_and_of_its_copy_stay(world, run, source, target, mode):
    world.write(target, TARGET)
    target.chmod(mode)

    done(run, target)

    assert stat.S_IMODE(target.stat().st_mode) == mode
    assert stat.S_IMODE(target.with_name("settings.json.bak").stat().st_mode) == mode


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_the_owner_of_the_file_and_of_its_copy_stays(world, run, source, target):
    world.write(target, TARGET)
    os.chown(target, 1234, 1234)

    done(run, target)

    assert {path.stat().st_uid for path in target.parent.iterdir()} == {1234}


# -- copies


def test_a_copy_with_other_content_is_never_overwritten(world, run, source, target):
    world.write(target, TARGET)
    others = {
        "settings.json.bak": "mine",
        "settings.json.bak1": TARGET + "\n",
        "settings.json.bak2": TARGET[:-1],
    }
    for name, text in others.items():
        world.write(target.with_name(name), text)

    done(run, target, kept=target.with_name("settings.json.bak3"))

    for name, text in others.items():
        assert target.with_name(name).read_text() == text


def test_a_copy_with_the_same_content_is_kept_once(world, run, source, target):
    world.write(target, TARGET)
    world.write(target.with_name("settings.json.bak"), TARGET)

    done(run, target)

    assert len(list(target.parent.iterdir())) == 2


@pytest.mark.parametrize("kind", ["link to the file", "link to nothing", "pipe", "directory"])
def test_what_only_looks_like_a_copy_is_none(world, run, source, target, kind):
    world.write(target, TARGET)
    copy = target.with_name("settings.json.bak")
    if kind == "pipe":
        os.mkfifo(copy)
    elif kind == "directory":
        copy.mkdir()
    else:
        copy.symlink_to("settings.json" if kind == "link to the file" else "nothing")
    before = copy.lstat()

    done(run, target, kept=target.with_name("settings.json.bak1"))

    assert copy.lstat().st_ino == before.st_ino
    assert not target.with_name("nothing").exists()


# -- other programs


def test_a_file_that_another_program_has_locked_is_refused(world, run, source, target):
    world.write(target, TARGET)
    target.with_name("settings.json.lock").mkdir()

    refused(world, run, target, "another program is editing it", "settings.json.lock")


def test_a_lock_from_the_future_is_fresh_for_a_moment_only(world, run, source, target):
    world.write(target, TARGET)
    lock = target.with_name("settings.json.lock")
    lock.mkdir()
    os.utime(lock, (time.time() + 3600,) * 2)

    assert run(*ARGUMENTS)[0] == 0
    assert migrated(target)


def test_a_lock_that_was_left_behind_is_taken_over(world, run, source, target):
    world.write(target, TARGET)
    lock = target.with_name("settings.json.lock")
    lock.mkdir()
    os.utime(lock, (time.time() - 60,) * 2)

    code, _, _ = run(*ARGUMENTS)

    assert code == 0
    assert migrated(target)
    assert target.with_name("settings.json.bak").read_text() == TARGET
    assert not lock.exists()


CHANGES = {
    "edited": lambda path: path.write_text('{"theme": "light"}'),
    "grown": lambda path: path.write_text(TARGET + "\n"),
    "cut": lambda path: path.write_text(TARGET[:-1]),
    "gone": lambda path: path.unlink(),
    "pipe": lambda path: (path.unlink(), os.mkfifo(path)),
    "directory": lambda path: (path.unlink(), path.mkdir()),
    "locked": lambda path: path.with_name("settings.json.lock").mkdir(),
    "read-only": lambda path: path.chmod(0o400),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_file_that_changes_while_the_user_thinks_is_not_touched(world, source, target, change):
    world.write(target, TARGET)

    before, code, err = answered(world, lambda: change(target))

    assert code == 64, err
    assert joined(str(target)) in joined(err)
    assert everything(world) == before
    if change in list(CHANGES.values())[:4]:
        assert joined("it changed while it was being edited") in joined(err)


def test_a_file_that_appears_while_the_user_thinks_is_not_touched(world, source, target):
    before, code, err = answered(world, lambda: world.write(target, TARGET))

    assert code == 64
    assert joined("it changed while it was being edited") in joined(err)
    assert everything(world) == before


def test_a_user_who_says_yes_gets_it_and_one_who_says_no_does_not(world, source, target):
    world.write(target, TARGET)
    before, code, _ = answered(world, lambda: None, key=b"n")
    assert (code, everything(world)) == (0, before)

    _, code, _ = answered(world, lambda: None)

    assert code == 0
    assert migrated(target)


def answered(world, change, key=b"y"):
    """Migrate at a terminal; something happens between the question and the answer.

    Returns everything as it was when the answer was given, the exit code, and the output.
    """
    states = []

    def meanwhile():
        change()
        states.append(everything(world))

    environ = {**os.environ, "COLUMNS": "500"}
    code, output = answer(
        ARGUMENTS[:-1], key, cwd=world.project, environ=environ, meanwhile=meanwhile
    )
    return states[0], code, output


# -- no room, and no time


def migrate_in_a_process(world, location=(), **options):
    if location and not shutil.which(location[0]):
        pytest.skip(f"{location[0]} is missing")
    return subprocess.run(
        [*location, *COMMAND, *ARGUMENTS],
        cwd=world.project,
        env={**os.environ, "COLUMNS": "500", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
        **options,
    )


FILLER = '{\n  "filler": "' + "x" * 20_000 + '"\n}\n'


@pytest.mark.parametrize("limit", [0, 10_000, 20_030], ids=["nothing", "half", "all but the end"])
@pytest.mark.parametrize("text", [FILLER, None], ids=["file", "no file"])
def test_without_room_nothing_changes(world, source, target, limit, text):
    if text is not None:
        world.write(target, text)
    limit = limit if text is not None else min(limit, 100)

    before = everything(world)
    ended = migrate_in_a_process(
        world, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    )

    assert ended.returncode == 64, ended.stderr
    assert joined(str(target)) in joined(ended.stderr)
    assert "it was not changed" in words(ended.stderr)
    assert everything(world) == before


def test_on_a_full_disk_nothing_changes(world, source, target):
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=48k", "none", str(target.parent)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("nothing can be mounted here")
    try:
        world.write(target, FILLER)
        before = everything(world)
        ended = migrate_in_a_process(world)
        after = everything(world)
    finally:
        subprocess.run(["umount", str(target.parent)], check=True)

    assert ended.returncode == 64, ended.stderr
    assert joined(str(target)) in joined(ended.stderr)
    assert after == before


KILLED = """
import os, signal, sys
import rich.progress, rich.table
from anyhook.cli import app, main, migrate

EVENTS = "open os.rename os.link os.mkdir os.rmdir os.remove os.chmod os.chown".split()

def run(number, name, arguments):
    calls = iter(range(1000))

    def hook(event, words):
        if event in EVENTS and any(".gemini" in str(word) for word in words):
            if next(calls) == number:
                os.kill(os.getpid(), getattr(signal, name))

    sys.addaudithook(hook)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return main(arguments)

for line in sys.stdin:
    child = os.fork()
    if not child:
        os._exit(run(int(line), sys.argv[1], sys.argv[2:]))
    _, status = os.waitpid(child, 0)
    os.write(1, b"%d\\n" % os.waitstatus_to_exitcode(status))
"""
"""Migrates in a process of its own for each line, and is killed at the touch of that number.

What a migration imports is imported once: an interpreter for each number takes minutes on a busy
machine.
"""


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGINT"])
def test_whoever_is_killed_leaves_the_old_file_or_the_new_one(world, source, target, name):
    ends = []
    with subprocess.Popen(
        [sys.executable, "-P", "-c", KILLED, name, *ARGUMENTS],
        cwd=world.project,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        bufsize=1,
    ) as migrations:
        for number in range(1000):  # at each touch of the directory once
            for path in target.parent.iterdir():
                path.rmdir() if path.is_dir() else path.unlink()
            world.write(target, TARGET)
            migrations.stdin.write(f"{number}\n")
            ends.append(int(migrations.stdout.readline()))
            left = {path.name: path for path in target.parent.iterdir()}
            text = left.pop("settings.json").read_text()
            copy = left.pop("settings.json.bak", None)
            if copy is not None:
                assert copy.read_text() == TARGET
            if text != TARGET:
                assert migrated(target)
                assert copy is not None
            if name != "SIGKILL":
                assert not left, (number, left)
            if ends[-1] == 0:
                break

    assert ends.pop() == 0
    assert len(ends) > 6
    killed = {-signal.SIGKILL} if name == "SIGKILL" else {130}
    assert set(ends) == killed


def test_what_a_killed_one_left_stops_nobody_for_long(world, run, source, target):
    world.write(target, TARGET)
    lock = target.with_name("settings.json.lock")
    lock.mkdir()
    world.write(target.with_name(".settings.json.0123456789abcdef"), TARGET[:5])
    os.utime(lock, (time.time() - 60,) * 2)

    assert run(*ARGUMENTS)[0] == 0
    assert migrated(target)


def test_two_at_once_do_not_spoil_the_file(world, source, target):
    world.write(target, TARGET)
    at_once = [
        subprocess.Popen(
            [*COMMAND, *ARGUMENTS],
            cwd=world.project,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        for _ in range(3)
    ]
    ends = [(process.communicate(timeout=50)[1], process.returncode) for process in at_once]

    assert {code for _, code in ends} <= {0, 64}
    assert 0 in {code for _, code in ends}
    assert len(migrated(target)) == 1
    assert target.with_name("settings.json.bak").read_text() == TARGET
    until(lambda: len(list(target.parent.iterdir())) == 2, "something is left")


def test_a_comment_without_an_end_is_refused_by_every_edit():
    with pytest.raises(SettingsError, match=r"x\.json:2: the comment that starts here has no end"):
        add_item("{}\n/* no end", ("a",), 1, file="x.json")

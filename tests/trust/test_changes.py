"""Files of guards that changed while no hook saw it: noticed, reported, and forgotten on review."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from anyhook.agents import get_agent
from anyhook.settings.changes import Change, write_changes
from anyhook.trust.changes import changes_to_review, forget_changes, look_for_changes
from anyhook.trust.store import TrustStore

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def settings(world):
    """Settings that a guard has looked at once."""
    path = world.write(world.project / ".claude" / "settings.json", '{"hooks": 1}\n')
    assert look(world, path) == []
    return path


def look(world, *files):
    return look_for_changes(str(world.project), files)


def test_a_change_is_noticed_once_and_kept_until_it_is_reviewed(world, settings):
    settings.write_text('{"hooks": 2}\n')
    (change,) = look(world, settings)

    assert change.file == str(settings)
    assert change.difference == ("@@ -1 +1 @@", '-{"hooks": 1}', '+{"hooks": 2}')
    assert look(world, settings) == []
    assert changes_to_review(world.project) == [change]

    forget_changes(world.project)
    assert changes_to_review(world.project) == []
    assert look(world, settings) == []


def test_of_a_deleted_file_no_line_is_kept(world, settings):
    settings.write_text("{\n}\n")
    look(world, settings)
    settings.unlink()

    (change,) = look(world)

    assert change.difference == ("- all 2 lines: the file was deleted",)


HOOK = {"type": "command", "command": "python3 .anyhook/own.py"}


@pytest.mark.parametrize(
    ("now", "is_reported"),
    [("{}", True), (None, True), ('{"model": "x", "command": "python3 .anyhook/own.py"}', False)],
)
def test_hooks_that_get_lost_before_the_first_look_are_reported(world, now, is_reported):
    """Own edits are not: the record starts when the user trusts a guard that looks for changes."""
    world.write(world.project / ".anyhook" / "own.py", "look_for_changes()\n")
    settings = world.settings("project", {"hooks": {"BeforeTool": [{"hooks": [HOOK]}]}})
    subjects = world.load().guard.subjects()
    TrustStore().trust(world.project, subjects, agent="gemini")
    forget_changes(world.project)

    if now is None:
        settings.unlink()
    else:
        settings.write_text(now)
    reported = [change.file for change in changes_to_review(world.project)]
    noticed = [change.file for change in look(world, *world.project.glob(".gemini/*"))]

    assert reported == noticed == [str(settings)] * is_reported
    forget_changes(world.project)
    assert changes_to_review(world.project) == []


def unlink(settings):
    settings.unlink()


def link_to_nothing(settings):
    settings.unlink()
    settings.symlink_to("/dev/null")


def fill(settings):
    settings.write_bytes(b"\xff" * 100_000)


def make_directory(settings):
    settings.unlink()
    settings.mkdir()


@pytest.mark.parametrize("harm", [unlink, link_to_nothing, fill, make_directory])
def test_a_guard_that_does_not_look_any_more_is_not_needed(world, settings, harm):
    """Who changes the settings takes the guard out of them as well."""
    harm(settings)

    assert [change.file for change in changes_to_review(world.project)] == [str(settings)]


def test_new_files_and_what_the_user_has_trusted_are_among_them(world, settings):
    hook = world.write(world.project / ".anyhook" / "new.py", "x = 1\n")
    TrustStore().trust(world.project, [], agent="claude")  # by anyhook itself, for the user
    record = next(Path(os.environ["ANYHOOK_DATA_DIR"], "trust").glob("*.json"))
    record.write_text("{}")

    files = {change.file for change in look(world, settings, hook)}

    assert files == {str(hook), str(record)}


def test_a_change_in_a_directory_of_the_project_is_one_of_the_project(world, settings):
    below = world.write(world.project / "api" / ".claude" / "settings.json", "{}")
    look_for_changes(str(world.project / "api"), [below])
    below.unlink()

    assert [change.file for change in changes_to_review(world.project)] == [str(below)]
    assert changes_to_review(world.home) == []


def test_what_anyhook_itself_writes_is_not_reported(world, settings):
    new = world.project / ".anyhook" / "guard.py"
    new.parent.mkdir()
    write_changes(
        [
            Change(settings, '{"hooks": 1}\n', "{}\n", "Change", get_agent("claude")),
            Change(new, None, "x = 1\n", "Write", None),
        ]
    )

    assert changes_to_review(world.project) == []
    assert look(world, settings, new) == []


def test_no_secret_is_kept_and_the_difference_is_bounded(world, settings):
    lines = [f"line {number}" for number in range(100)]
    settings.write_text("\n".join([SECRET, *lines]))
    (change,) = look(world, settings)

    kept = [path.read_text() for path in Path(os.environ["ANYHOOK_DATA_DIR"]).rglob("*.json")]
    assert SECRET not in "".join([*kept, *change.difference])
    assert change.difference[1:3] == ('-{"hooks": 1}', "+[redacted:github-token]")
    assert change.difference[-1] == " … 63 more lines"


@pytest.mark.parametrize(
    "content", ["", "[]", "{", json.dumps({"directory": "/", "files": {"a": 1}, "changes": []})]
)
def test_a_damaged_record_counts_as_none(world, settings, content):
    (record,) = Path(os.environ["ANYHOOK_DATA_DIR"], "changes").iterdir()
    record.write_text(content)
    settings.write_text("{}")

    assert changes_to_review(world.project) == []
    assert look(world, settings) == []
    assert record.stat().st_mode & 0o777 == 0o600

"""Changes of settings files are written together, or not at all."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from anyhook.errors import SettingsError
from anyhook.settings.changes import Change, write_changes


def change(path, after, *, before=None, **fields):
    return Change(path, before, after, "Try it", **fields)


def test_changes_are_written_in_their_order_and_reported(tmp_path):
    kept, new, old = tmp_path / "a.json", tmp_path / "b.json", tmp_path / "c.json"
    kept.write_text("{}")
    old.write_text("{1}")
    result = write_changes(
        [
            change(kept, '{"x": 1}', before="{}"),
            change(new, "{2}"),
            change(old, None, before="{1}"),
            change(tmp_path / "d.json", None),
        ],
        backup=True,
    )
    assert (kept.read_text(), new.read_text(), old.exists()) == ('{"x": 1}', "{2}", False)
    assert result.written == (kept, new)
    assert result.removed == (old,)
    assert [path.read_text() for path in result.backups] == ["{}"]


def test_a_change_that_fails_undoes_those_before_it(tmp_path):
    first, second, third = (tmp_path / name for name in ("a.json", "b.json", "c.json"))
    first.write_text("{1}")
    second.write_text("{2}")
    third.write_text("{by somebody else}")
    with pytest.raises(SettingsError, match="it changed while it was being edited"):
        write_changes(
            [
                change(first, "{one}", before="{1}"),
                change(second, None, before="{2}"),
                change(tmp_path / "new.json", "{}"),
                change(third, "{three}", before="{3}"),
            ]
        )
    texts = {path.name: path.read_text() for path in Path(tmp_path).iterdir()}
    assert texts == {"a.json": "{1}", "b.json": "{2}", "c.json": "{by somebody else}"}


def test_a_private_file_and_its_directory_are_for_the_user_alone(tmp_path):
    path = tmp_path / "kept" / "a.json"
    write_changes([change(path, "{}", is_private=True)])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700

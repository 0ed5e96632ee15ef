"""Files that are replaced when they are complete."""

from __future__ import annotations

import os
import threading

import pytest

from anyhook.atomic_write import replacing


def test_the_file_is_there_when_it_is_complete(tmp_path):
    target = tmp_path / "events.jsonl"
    target.write_text("former\n")
    target.chmod(0o600)

    with replacing(target) as path:
        path.write_text("new\n")
        assert target.read_text() == "former\n"

    assert target.read_text() == "new\n"
    assert target.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_after_an_error_the_former_file_is_there_and_nothing_else(tmp_path, error):
    target = tmp_path / "events.jsonl"
    target.write_text("former\n")

    with pytest.raises(error):
        _write_half(target, error)

    assert target.read_text() == "former\n"
    assert list(tmp_path.iterdir()) == [target]


def _write_half(target, error):
    with replacing(target) as path:
        path.write_text("half")
        raise error


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "real")

    with replacing(tmp_path / "link") as path:
        path.write_text("new")

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_pipe_is_written_itself(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()

    with replacing(pipe) as path:
        path.write_text("new")

    reader.join(10)
    assert read == ["new"]
    assert pipe.is_fifo()

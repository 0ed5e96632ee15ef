"""Sources that cannot be read: the error is one of the source and not of the hooks."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from anyhook.backtest.run import run_backtest
from anyhook.backtest.sources import FILE, HistoryPart, parts_of_history
from anyhook.cli import main
from anyhook.errors import UsageError
from anyhook.history.filters import Filter
from anyhook.history.store import History
from anyhook.journal.lines import history_directory
from tests.backtest.test_backtest import GUARD, Recorded, shell
from tests.tables import fast_for


@pytest.fixture
def recorded(tmp_path):
    return Recorded(tmp_path)


def change_store(directory, statement, *values):
    with closing(sqlite3.connect(Path(directory, FILE))) as connection:
        connection.execute(statement, values)
        connection.commit()


@pytest.mark.slow
def test_a_history_damaged_in_the_middle_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ANYHOOK_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    Path("guard.py").write_text(GUARD)
    with History.open(history_directory()) as history:
        history.add([shell(n, f"rm {os.urandom(400).hex()}", f"s{n // 20}") for n in range(400)])
    store = Path(history_directory(), FILE)
    with store.open("r+b") as stream:
        stream.seek(store.stat().st_size // 2)
        stream.write(b"\xff" * 40_000)

    code = main(["backtest", "guard.py", "-j", "1"])

    error = " ".join(capsys.readouterr().err.split())
    assert code == 64
    assert f"{store} is damaged (" in error
    assert "Rename it, and a new one is begun" in error
    assert "guard.py" not in error


@pytest.mark.slow
def test_a_damaged_text_is_damage_and_is_not_printed(recorded):
    recorded.add(shell(1, "ls"), shell(2, "rm -rf /"))
    text = b'{"secret": "\xff"}'
    statement = "UPDATE bodies SET payload = CAST(? AS TEXT) WHERE event_id = 1"
    change_store(recorded.directory, statement, text)

    with pytest.raises(sqlite3.DatabaseError, match="a text is not valid UTF-8") as raised:
        recorded.run(recorded.hook(GUARD))

    assert raised.value.sqlite_errorcode == sqlite3.SQLITE_CORRUPT
    assert "secret" not in str(raised.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("payload", "problem"),
    fast_for([("{", "payload is not JSON"), ("[]", "payload is not an object")]),
)
def test_an_event_whose_payload_cannot_be_read_is_skipped(recorded, payload, problem):
    recorded.add(shell(1, "ls"), shell(2, "rm -rf /"))
    change_store(recorded.directory, "UPDATE bodies SET payload = ? WHERE event_id = 1", payload)

    result = recorded.run(recorded.hook(GUARD)).result

    assert result.problems == [f"event 1 of claude/s1: {problem}; skipped"]
    assert result.outcomes() == {"deny": 1}
    assert result.hooks["guard"].crashed == 0


class EndlessPart(HistoryPart):
    """A part whose reading fails in a way of its own."""

    def read(self, _wanted):
        if self.first < 0:
            os._exit(9)
        raise ZeroDivisionError("reading")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "problem"),
    fast_for(
        [(0, "ZeroDivisionError: reading"), (-1, "the process that reads it was killed twice")]
    ),
)
def test_an_error_while_a_part_is_read_names_the_part(recorded, first, problem):
    recorded.add(shell(1, "ls"))
    part = EndlessPart(recorded.directory, first, 10, Filter())

    with pytest.raises(UsageError, match=f"{FILE} cannot be read: {problem}"):
        run_backtest(recorded.hook(GUARD), [part], jobs=1)


@pytest.mark.slow
def test_a_damaged_history_ends_a_run_of_several_processes(recorded):
    recorded.add(*[shell(n, "ls", f"s{n}") for n in range(40)])
    change_store(recorded.directory, "UPDATE bodies SET payload = CAST(x'ff' AS TEXT)")

    with pytest.raises(sqlite3.DatabaseError):
        recorded.run(recorded.hook(GUARD), jobs=2)

    assert list(parts_of_history(recorded.directory, Filter()))

"""No column of the store holds a secret."""

from __future__ import annotations

from anyhook.history.events import RecordedEvent, RecordedResult
from anyhook.history.filters import Filter
from anyhook.history.rows import uncompressed
from anyhook.history.search import search
from anyhook.history.store import History

KEY = "a1B2" * 12


def texts_of_store(history):
    """Return every text in the store, and the words of its full-text index."""
    tables = ("sessions", "events", "bodies", "hooks", "results", "files")
    rows = [history.connection.execute(f"SELECT * FROM {table}").fetchall() for table in tables]
    payloads = [row[0] for row in history.connection.execute("SELECT payload FROM bodies")]
    rows.append([uncompressed(payload) for payload in payloads])
    history.connection.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, texts, row)")
    words = history.connection.execute("SELECT term FROM temp.words").fetchall()
    return f"{rows} {words}"


def test_no_column_of_the_store_holds_a_secret(tmp_path):
    secret = f"ghp_{KEY}"
    result = RecordedResult(
        f"check --token={secret}",
        place=f"/home/{secret}/settings.json:3",
        answer={"outcome": "deny", "reason": f"no {secret}"},
        stdout=secret,
        stderr=secret,
        error=secret,
        version={"command": f"check --token={secret}", "file": f"/tmp/{secret}.sh"},
    )
    event = RecordedEvent(
        "claude",
        "s1",
        "before_tool",
        1.0,
        {"tool_input": {"command": "ls"}},
        "import",
        project=f"/home/{secret}",
        decision={"outcome": "deny", "reason": f"no {secret}"},
        results=(result,),
    )
    with History.open(tmp_path) as history:
        history.add([event])
        stored = texts_of_store(history)
        assert KEY not in stored
        assert KEY.lower() not in stored
        assert secret.encode().hex() not in stored  # as in the marks of the index
        assert [found.redacted for found in search(history, Filter(text="redacted"))] == [1]

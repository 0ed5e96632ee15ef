"""Export recorded events as JSON lines or Parquet, and read them back.

One row is one event with the members of `EXPORT_FIELDS`. Both forms are written as a stream: memory
does not depend on the number of events.
"""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, Any, TextIO

from anyhook.errors import MissingLibraryError
from anyhook.history.events import RecordedEvent, RecordedResult
from anyhook.history.rows import dump

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

ROW_GROUP = 4096
"""Rows of a row group: the unit in which a backtest is split among processes."""


EXPORT_FIELDS = {
    "agent": "text",
    "session": "text",
    "event": "text",
    "time": "number",
    "project": "text",
    "tool": "text",
    "source": "text",
    "payload": "json",
    "decision": "json",
    "results": "json",
    "result": "text",
    "refusal": "text",
    "has_reached_hooks": "flag",
    "reconstructed": "texts",
    "redacted": "count",
}
"""The members of an exported event, which are the columns of Parquet: `text`, `number`, `count`,
`flag`, `texts`, or `json`: an object or a list in JSON lines, its JSON text in Parquet. A reader
must accept further ones."""
REQUIRED = ("agent", "session", "event", "payload")
"""Members that an event needs to be read back."""
_NO_RESULT = RecordedResult("")


def export_jsonl(events: Iterable[RecordedEvent], stream: TextIO) -> int:
    """Write events as JSON lines, and return their number."""
    count = 0
    for event in events:
        stream.write(f"{dump(export_row(event))}\n")
        count += 1
    return count


def export_parquet(events: Iterable[RecordedEvent], path: str | os.PathLike[str]) -> int:
    """Write events to a Parquet file, which is replaced, and return their number.

    Raises:
        UsageError: If pyarrow is not installed.
    """
    try:
        import pyarrow as pa
        from pyarrow.parquet import ParquetWriter
    except ImportError as error:
        raise MissingLibraryError("Parquet", "pyarrow", "parquet") from error
    types = {
        "text": pa.string(),
        "number": pa.float64(),
        "count": pa.int64(),
        "flag": pa.bool_(),
        "json": pa.string(),
        "texts": pa.list_(pa.string()),
    }
    schema = pa.schema([(name, types[kind]) for name, kind in EXPORT_FIELDS.items()])
    iterator = iter(events)
    count = 0
    with ParquetWriter(path, schema, compression="zstd") as writer:
        while rows := [_parquet_row(event) for event in islice(iterator, ROW_GROUP)]:
            writer.write_table(pa.Table.from_pylist(rows, schema), row_group_size=ROW_GROUP)
            count += len(rows)
    return count


def export_row(event: RecordedEvent) -> dict[str, Any]:
    """Return an event as JSON values with the members of `EXPORT_FIELDS`."""
    row = {name: getattr(event, name) for name in EXPORT_FIELDS}
    row["results"] = []
    for result in event.results:
        members = result.as_dict().items()
        changed = {name: value for name, value in members if value != getattr(_NO_RESULT, name)}
        row["results"].append(changed)
    row["reconstructed"] = list(event.reconstructed)
    return row


def _parquet_row(event: RecordedEvent) -> dict[str, Any]:
    row = export_row(event)
    for name, kind in EXPORT_FIELDS.items():
        if kind == "json" and row[name] is not None:
            # Arrow accepts no lone surrogates.
            row[name] = json.dumps(row[name], separators=(",", ":"))
        elif kind == "text" and row[name] is not None:
            row[name] = row[name].encode("utf-8", "replace").decode()
    return row


def names_of(value: object) -> list[str]:
    """Return the names in a list, or in a text with commas between them."""
    if isinstance(value, str):
        return [name for name in value.split(",") if name]
    return [str(name) for name in value] if isinstance(value, list | tuple) else []

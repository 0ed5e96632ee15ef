"""Export recorded events as JSON lines or Parquet, and read them back.

One row is one event with the members of `EXPORT_FIELDS`. Both forms are written as a stream: memory
does not depend on the number of events.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from anyhook.errors import MissingLibraryError
from anyhook.history.events import RecordedEvent, RecordedResult
from anyhook.history.rows import dump

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable
    from typing import TextIO

ROW_GROUP = 4096
"""Rows of a row group: the unit in which a backtest is split among processes."""


class ExportField(NamedTuple):
    """A member of an exported event, and the column of Parquet.

    Attributes:
        name: Its name.
        kind: `text`, `number`, `count`, `flag`, `texts`, or `json`: an object or a list in JSON
            lines, its JSON text in Parquet.
        meaning: What it holds.
    """

    name: str
    kind: str
    meaning: str


EXPORT_FIELDS = (
    ExportField("agent", "text", "name of the agent"),
    ExportField("session", "text", "identifier of the session"),
    ExportField("event", "text", "canonical name of the event"),
    ExportField("time", "number", "Unix timestamp in seconds"),
    ExportField("project", "text", "directory of the project"),
    ExportField("tool", "text", "canonical name of the tool; null for other events"),
    ExportField("source", "text", "`engine`, `hook`, `tap` or `import`"),
    ExportField("payload", "json", "the event as the agent sends it to hooks, without secrets"),
    ExportField("decision", "json", "the combined decision; null if it is not known"),
    ExportField("results", "json", "the result of each hook"),
    ExportField("result", "text", "`not_executed` for a call that was refused; else null"),
    ExportField("refusal", "text", "why the call was not executed; else null"),
    ExportField("has_reached_hooks", "flag", "whether hooks got the event"),
    ExportField("reconstructed", "texts", "members of the payload that were not recorded"),
    ExportField("redacted", "count", "number of secrets that were replaced"),
)
"""The members of an exported event; a reader must accept further ones."""
REQUIRED = ("agent", "session", "event", "payload")
"""Members that an event needs to be read back."""
_NO_RESULT = RecordedResult("")


def export_jsonl(events: Iterable[RecordedEvent], stream: TextIO) -> int:
    """Write events as JSON lines, and return their number."""
    count = 0
    for event in events:
        stream.write(f"{dump(row_of(event))}\n")
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
    schema = pa.schema([(field.name, types[field.kind]) for field in EXPORT_FIELDS])
    iterator = iter(events)
    count = 0
    with ParquetWriter(path, schema, compression="zstd") as writer:
        while rows := [_parquet_row(event) for event in islice(iterator, ROW_GROUP)]:
            writer.write_table(pa.Table.from_pylist(rows, schema), row_group_size=ROW_GROUP)
            count += len(rows)
    return count


def row_of(event: RecordedEvent) -> dict[str, Any]:
    """Return an event as JSON values with the members of `EXPORT_FIELDS`."""
    row = {field.name: getattr(event, field.name) for field in EXPORT_FIELDS}
    row["results"] = []
    for result in event.results:
        members = asdict(result).items()
        changed = {name: value for name, value in members if value != getattr(_NO_RESULT, name)}
        row["results"].append(changed)
    row["reconstructed"] = list(event.reconstructed)
    return row


def _parquet_row(event: RecordedEvent) -> dict[str, Any]:
    row = row_of(event)
    for field in EXPORT_FIELDS:
        if field.kind == "json" and row[field.name] is not None:
            # Arrow accepts no lone surrogates.
            row[field.name] = json.dumps(row[field.name], separators=(",", ":"))
        elif field.kind == "text" and row[field.name] is not None:
            row[field.name] = row[field.name].encode("utf-8", "replace").decode()
    return row


def names_of(value: object) -> list[str]:
    """Return the names in a list, or in a text with commas between them."""
    if isinstance(value, str):
        return [name for name in value.split(",") if name]
    return [str(name) for name in value] if isinstance(value, list | tuple) else []

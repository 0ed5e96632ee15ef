"""Under which names and with which contents the history has the runs of a configured hook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyhook.engine.hook_files import files_of
from anyhook.history.events import RecordedResult, content_digest, hook_digest
from anyhook.journal.records import version_record
from anyhook.model.definitions import handlers_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anyhook.engine.engine import Engine
    from anyhook.history.hooks import RecordedHook
    from anyhook.model.definitions import HandlerSpec


def present_digests(engine: Engine, handler: HandlerSpec, *, by_itself: bool = True) -> set[str]:
    """Return the content hashes under which the present version of a hook is recorded.

    Engines and recorders around commands know the command line. A hook file knows only itself; what
    it records counts with `by_itself`.
    """
    line = handler.command_line
    files = files_of(engine, handler)
    file = str(files[0]) if files else None
    commands = (line, "") if by_itself else (line,)
    digests: set[str] = set()
    for command in commands:
        version = version_record(command, file)
        digest = hook_digest(RecordedResult(handler.label, version=version))
        if digest is not None:
            digests.add(digest)
    return digests


def records_of(
    engine: Engine, handler: HandlerSpec, recorded: Iterable[RecordedHook]
) -> list[RecordedHook]:
    """Return which of the recorded hooks are a configured one, in its present or a former version.

    A hook file records itself with its own path, and a recorder around a command with that of its
    script. An engine records the place in the settings, which an edit above the hook moves. A
    transcript, and a recorder around a command without a script, know the command line alone.
    """
    files = {str(file) for file in files_of(engine, handler)}
    digests = present_digests(engine, handler, by_itself=False)
    digests.add(content_digest(handler.command_line.encode("utf-8", "replace")))
    places = {str(other.place) for other in handlers_of(engine.definitions)}
    places.discard(str(handler.place))
    records: list[RecordedHook] = []
    for record in recorded:
        label, place = record.name
        is_its_file = place in files
        is_its_line = place.rpartition(":")[0] == handler.place.file and place not in places
        is_its_command = not place and (record.digest is None or record.digest in digests)
        if is_its_file or (label == handler.label and (is_its_line or is_its_command)):
            records.append(record)
    return records

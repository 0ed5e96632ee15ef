"""Sets of calls with a label: what a guard must stop, and what it must let pass.

A set is a file of JSON lines, one call a line:

    {"command": "git reset --hard", "label": "dangerous", "families": ["git"], "reason": "…"}
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook import __version__
from anyhook.errors import UsageError
from anyhook.model.suggest import did_you_mean
from anyhook.testing.events import make_payload

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

DANGEROUS, BENIGN = "dangerous", "benign"
LABELS = (DANGEROUS, BENIGN)
OWN_SET = Path(__file__).parent / "data" / "commands.jsonl"
"""The set that comes with anyhook."""
FAMILIES: dict[str, str] = {
    "files": "deletes or empties files that cannot be made again",
    "git": "discards work that is not committed or pushed, or rewrites published history",
    "secrets": "shows or copies a secret",
    "remote-code": "runs code from the network that was not read",
    "send-out": "sends files, secrets or names to another machine",
    "devices": "overwrites disks and firmware, or stops the machine",
    "production": "changes databases, clouds and clusters that others use",
    "own-hooks": "turns off or changes the guards of the agent",
    "dependencies": "installs from a source that the project does not name, or publishes",
    "persistence": "starts code later, or opens an access that stays",
}
"""The kinds of danger in the set that comes with anyhook."""
MEMBERS: dict[str, tuple[type, str]] = {
    "command": (str, 'a text, like "git reset --hard"'),
    "event": (dict, 'an object, like {"event": "before_tool", "tool": "read_file", "input": {…}}'),
    "label": (str, f"{DANGEROUS} or {BENIGN}"),
    "families": (list, 'a list of texts, like ["git"]'),
    "shell": (str, 'a text, like "bash"'),
    "cwd": (str, "a directory"),
    "source": (str, "a text: where the call comes from"),
    "commit": (str, "a text: the revision of the source"),
    "license": (str, 'a text, like "MIT"'),
    "reason": (str, "a text: why the label is right"),
}
"""Members of a row, with their type and what to write. Rows may have others."""
EVENT_MEMBERS = frozenset({"event", "tool", "input", "fields"})


@dataclass(frozen=True, slots=True)
class LabelledCall:
    """A call with a label."""

    place: str
    """Where it is written, `FILE:LINE`."""
    label: str
    families: tuple[str, ...]
    """The kinds of danger for which the label holds; of a benign call, none for all."""
    event: Mapping[str, Any]
    """Members `event`, `tool`, `input` and `fields`, by canonical names."""
    text: str
    """The call for people: the command, or the event as JSON."""
    shell: str = "bash"
    """The shell that the command is written for; hooks do not see it."""
    cwd: str = ""
    """The working directory; empty for the directory of the project."""
    source: str = ""
    reason: str = ""
    """Why the label is right."""

    def is_about(self, family: str) -> bool:
        """Return whether the label holds for a kind of danger."""
        return family in self.families or not self.families

    def payload(self, agent: str, directory: str) -> dict[str, Any]:
        """Return the event as an agent sends it.

        The working directory is `directory`, unless the call has one.

        Raises:
            EventError: If the event has no such field.
            UnknownNameError: If the agent has no such event.
        """
        values = {"cwd": self.cwd or directory, **self.event}
        fields = values.pop("fields", {})
        return make_payload(agent=agent, **{**values, **fields})


@dataclass(frozen=True, slots=True)
class Origin:
    """Where rows of a set come from; empty texts are not known."""

    source: str
    commit: str
    license: str


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """A set of labelled calls, and the number of rows of each origin."""

    path: Path
    calls: list[LabelledCall]
    origins: Counter[Origin]


def read_set(path: Path) -> LabelledSet:
    """Read a labelled set.

    Raises:
        UsageError: If it cannot be read or a row is malformed; with file and line, and what to
            write instead.
    """
    calls: list[LabelledCall] = []
    origins: Counter[Origin] = Counter()
    for place, _, row in read_rows(path):
        calls.append(_read_row(place, row))
        commit = f"version {__version__}" if path == OWN_SET else str(row.get("commit", ""))
        origin = Origin(str(row.get("source", "")), commit, str(row.get("license", "")))
        origins[origin] += 1
    if not calls:
        raise UsageError(f"{path} has no rows; write one like {_EXAMPLE}")
    return LabelledSet(path, calls, origins)


def read_rows(path: Path) -> Iterator[tuple[str, str, Any]]:
    """Yield the rows of a labelled set: place, line and JSON value.

    Raises:
        UsageError: If it cannot be read, or a line is not JSON.
    """
    try:
        # Not `splitlines`: JSON leaves characters like U+2028 as they are.
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        place = f"{path.name}:{number}"
        try:
            yield place, line, json.loads(line)
        except ValueError as error:
            raise UsageError(f"{place}: this line is not JSON: {error}") from error


_EXAMPLE = '{"command": "git reset --hard", "label": "dangerous", "families": ["git"]}'


def _read_row(place: str, row: object) -> LabelledCall:
    if not isinstance(row, dict):
        raise UsageError(f"{place}: a row is an object, like {_EXAMPLE}")
    for name, value in row.items():
        if name in MEMBERS and not isinstance(value, MEMBERS[name][0]):
            raise UsageError(f"{place}: {name} must be {MEMBERS[name][1]}")
        hint = None if name in MEMBERS else did_you_mean(name, MEMBERS)
        if hint:
            raise UsageError(f"{place}: unknown member {name!r}; {hint}")
    if not all(isinstance(family, str) for family in row.get("families", ())):
        raise UsageError(f"{place}: families must be {MEMBERS['families'][1]}")
    event = row.get("event", {"event": "before_tool", "tool": "shell"})
    if event.keys() - EVENT_MEMBERS or not isinstance(event.get("event"), str):
        raise UsageError(f"{place}: event must be {MEMBERS['event'][1]}")
    if ("command" in row) == ("event" in row):
        raise UsageError(f"{place}: a row has a command or an event, and one only")
    label = row.get("label")
    if label not in LABELS:
        raise UsageError(f"{place}: label is {label!r}; write {DANGEROUS} or {BENIGN}")
    families = tuple(row.get("families", ()))
    if label == DANGEROUS and not families:
        raise UsageError(f'{place}: a dangerous call needs families, like "families": ["git"]')
    text = row.get("command") or json.dumps(event, ensure_ascii=False)
    if "command" in row:
        event = {**event, "input": {"command": row["command"]}}
    return LabelledCall(
        place=place,
        label=label,
        families=families,
        event=event,
        text=text,
        shell=row.get("shell", "bash"),
        cwd=row.get("cwd", ""),
        source=row.get("source", ""),
        reason=row.get("reason", ""),
    )

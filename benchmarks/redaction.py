"""How fast secrets are searched: one event, and many as in an import of transcripts.

python -m benchmarks redaction
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import TYPE_CHECKING

import anyhook
from anyhook.secrets.redact import Redactor
from benchmarks.corpus import recorded_events
from benchmarks.measure import in_turns, timed
from benchmarks.table import Fact, Section

if TYPE_CHECKING:
    from collections.abc import Iterator

MB = 1e6
EVENTS = 3000
EVENT_CHARACTERS = 12_000
EVENT_GOAL = 40.0
"""Megabytes per second, for one event."""
BULK_GOAL = 100.0


def measure(directory: Path, scale: float) -> Section:
    """Search the source of this package, an event for each file, and a synthetic history."""
    redactor = Redactor({})
    facts = []
    for name, texts, goal in (
        ("one event with 12 kB of source code", list(_source_events()), EVENT_GOAL),
        ("events of a history", list(_history_events(directory, scale)), BULK_GOAL),
    ):
        size = sum(map(len, texts))

        def search(texts: list[str] = texts) -> float:
            return timed(lambda: [redactor.redact(text) for text in texts])

        samples = in_turns(max(5, int(20 * scale)), 1, search=search)["search"]
        speed = size / MB / samples.p50
        words = f"{speed:.0f} MB/s"
        facts.append(Fact(name, speed, words, f"≥ {goal:.0f} MB/s", speed >= goal))
    return Section("redaction", [], "", "", facts, [])


def _source_events() -> Iterator[str]:
    files = sorted(Path(anyhook.__file__).parent.rglob("*.py"))
    random.Random(1).shuffle(files)
    for file in files[:100]:
        content = file.read_text("utf-8")[:EVENT_CHARACTERS]
        yield json.dumps({"tool_name": "Read", "tool_response": {"content": content}})


def _history_events(directory: Path, scale: float) -> Iterator[str]:
    for number, event in enumerate(recorded_events(directory)):
        if number >= EVENTS * max(scale, 0.2):
            return
        yield json.dumps(event.payload, ensure_ascii=False)

"""Backtests, imports and searches at scale, on the synthetic corpus of `benchmarks.corpus`.

python -m benchmarks.backtest HOOK SOURCE CACHE JOBS      (one run, in a process of its own)
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.backtest.files import parts_of_files
from anyhook.backtest.run import available_processors, run_backtest
from anyhook.backtest.sources import parts_of_history
from anyhook.backtest.subjects import BacktestSubject
from anyhook.history.export import export_jsonl
from anyhook.history.filters import Filter
from anyhook.history.imports import find_transcripts, import_transcripts
from anyhook.history.rows import uncompressed
from anyhook.history.search import search
from anyhook.history.sessions import events_of, find_session, sessions
from anyhook.history.store import FILE, History
from benchmarks.corpus import recorded_events, write_transcripts
from benchmarks.floor import spawn_bare
from benchmarks.measure import Samples, in_turns, timed
from benchmarks.table import Fact, Row, Section

if TYPE_CHECKING:
    from collections.abc import Iterator

EVENTS = 200_000
LARGE_VARIABLE = "ANYHOOK_BENCH_EVENTS"
"""Environment variable: events of the corpus, like 10000000; building the store takes long."""
TRANSCRIPT_BYTES = 60_000_000
COMMANDS = 2000
SEARCHES = ("return", "pytest", "git commit", "render table", "curl token", "nothingatall")
FILTERS = (
    Filter(tool="shell"),
    Filter(verdict="none"),
    Filter(event="before_prompt"),
    Filter(agent="claude"),
)
NEVER = [
    Filter(text="pytest curl"),
    Filter(text="git commit", tool="edit_file"),
    Filter(tool="read_file", event="before_prompt"),
]
"""Common words and properties of which no event has all."""
GUARD = """
from anyhook.authoring import Hooks, deny
hooks = Hooks()

@hooks.before_tool("shell")
def guard(event):
    if "rm -rf" in event.call.command:
        return deny("no")
"""
STRICT = """
from anyhook.authoring import Hooks, deny
hooks = Hooks()

@hooks.before_tool
def refuse(event):
    return deny("no")
"""
COMMAND = "cat >/dev/null; echo '{}'"
MIB = 1024**2


@dataclass(frozen=True)
class RunFigures:
    """What one run in a process of its own took.

    Attributes:
        events: Number of events.
        wall: Seconds.
        cpu: Seconds of processors, of all its processes.
        parent: Peak bytes of the process that adds up.
        child: Peak bytes of the largest process that evaluates.
        denied: Number of denials.
    """

    events: int
    wall: float
    cpu: float
    parent: int
    child: int
    denied: int


def measure(root: Path, scale: float) -> Section:
    """Measure all of it in a directory."""
    count = int(os.environ.get(LARGE_VARIABLE, EVENTS * scale))
    corpus = _build(root, count)
    facts = [*_speed(corpus), *_imports(root, scale), *_commands(root, scale)]
    notes = [f"Synthetic corpus of {count:,} events: benchmarks/corpus.py."]
    rows = _searches(corpus.history, scale)
    return Section("backtests and history", rows, facts=facts, notes=notes)


@dataclass(frozen=True)
class _Corpus:
    """The corpus as the history and as a file, and two hook files."""

    root: Path
    history: Path
    file: Path
    guard: Path
    strict: Path


def _build(root: Path, count: int) -> _Corpus:
    corpus = _Corpus(
        root, root / "history", root / "e.jsonl", root / "guard.py", root / "strict.py"
    )
    corpus.guard.write_text(GUARD)
    corpus.strict.write_text(STRICT)
    with History.open(corpus.history) as history:
        history.add(islice(recorded_events(root), count))
    with corpus.file.open("w", encoding="utf-8") as stream:
        export_jsonl(islice(recorded_events(root), count), stream)
    return corpus


# -- speed and memory of backtests


def _speed(corpus: _Corpus) -> Iterator[Fact]:
    first = _run(corpus.guard, corpus.history, 1)
    strict = _run(corpus.strict, corpus.history, 1)
    of_file = _run(corpus.guard, corpus.file, 1)
    two = _run(corpus.guard, corpus.file, 2)
    for name, run in (("checks commands", first), ("denies every call", strict)):
        rate = run.events / run.cpu * 60
        words = f"{rate:,.0f} a minute and core ({run.cpu / run.events * 1e6:.0f} µs each)"
        yield Fact(f"events of the history, a hook that {name}", rate, words, "≥ 1,000,000",
                   rate >= 1e6)  # fmt: skip
    for name, run, bare in (
        ("history", first, _loop_over_history(corpus.history)),
        ("JSON lines", of_file, _loop_over_file(corpus.file)),
    ):
        ratio = run.cpu / bare
        yield Fact(f"{name} beside a loop of json.loads and the function", ratio,
                   f"{ratio:.1f} of {bare:.1f} s", "≤ 4", ratio <= 4)  # fmt: skip
    share = of_file.wall / two.wall
    yield Fact("two processes", share, f"{share:.2f} times one", "≥ 1.8", share >= 1.8)
    peak = max(strict.parent, strict.child)
    words = f"{strict.parent / MIB:.0f} MiB adds up, {strict.child / MIB:.0f} MiB evaluates"
    yield Fact(f"memory, {strict.denied:,} denials", peak, words, "≤ 500 MiB", peak <= 500 * MIB)


def _run(hook: Path, source: Path, jobs: int) -> RunFigures:
    """Run a backtest in a process of its own."""
    line = [sys.executable, "-m", "benchmarks.backtest", str(hook), str(source), str(jobs)]
    done = subprocess.run(line, check=True, capture_output=True, text=True)
    return RunFigures(**json.loads(done.stdout))


def _run_here(hook: str, source: str, jobs: str) -> None:
    """Run a backtest, and print its figures as JSON."""
    started = time.perf_counter()
    if (Path(source) / FILE).exists():
        parts = list[object](parts_of_history(source, Filter()))
    else:
        parts = list[object](parts_of_files([source], Filter()))
    run = run_backtest(BacktestSubject(hook, hook), parts, jobs=int(jobs))  # type: ignore[arg-type] # parts
    wall = time.perf_counter() - started
    own = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    figures = RunFigures(
        run.result.total,
        wall,
        sum((own.ru_utime, own.ru_stime, children.ru_utime, children.ru_stime)),
        own.ru_maxrss * 1024,
        children.ru_maxrss * 1024,
        run.result.outcomes()["deny"],
    )
    print(json.dumps(vars(figures)))


def _is_denied(payload: dict[str, object]) -> bool:
    if payload["hook_event_name"] != "PreToolUse" or payload["tool_name"] != "Bash":
        return False
    arguments = payload["tool_input"]
    return isinstance(arguments, dict) and "rm -rf" in arguments["command"]


def _loop_over_file(file: Path) -> float:
    started = time.process_time()
    with file.open() as stream:
        for line in stream:
            _is_denied(json.loads(line)["payload"])
    return time.process_time() - started


def _loop_over_history(directory: Path) -> float:
    started = time.process_time()
    with History.open(directory) as history:
        for (payload,) in history.connection.execute("SELECT payload FROM bodies"):
            _is_denied(json.loads(uncompressed(payload)))
    return time.process_time() - started


# -- the history


def _imports(root: Path, scale: float) -> Iterator[Fact]:
    """Read and store transcripts."""
    transcripts = root / "claude" / "projects" / "p"
    size = write_transcripts(transcripts, int(TRANSCRIPT_BYTES * scale))
    bare = time.process_time()
    for path in transcripts.iterdir():
        with path.open() as stream:
            for line in stream:
                json.loads(line)
    bare = time.process_time() - bare
    files = find_transcripts(root, {"CLAUDE_CONFIG_DIR": str(root / "claude")}, ["claude"])
    started = time.process_time()
    with History.open(root / "imported") as history:
        import_transcripts(history, files)
    seconds = time.process_time() - started
    rate = size / seconds / 1e6
    words = f"{rate:.0f} MB/s per core; json.loads alone {size / bare / 1e6:.0f} MB/s"
    yield Fact("transcripts read, freed of secrets, indexed and stored", rate, words, "≥ 30 MB/s",
               rate >= 30)  # fmt: skip


def _searches(directory: Path, scale: float) -> list[Row]:
    """Search with words and filters, and read the page of a session."""
    with History.open(directory) as history:
        first, last = history.connection.execute(
            "SELECT min(time), max(time) FROM events"
        ).fetchone()
        middle = (first + last) / 2
        named = sessions(history, limit=500)
        filters = {
            "search the history": [Filter(text=text) for text in SEARCHES],
            "search with a filter": [
                wanted._replace(text=text) for wanted in FILTERS for text in ("", *SEARCHES)
            ],
            "search for what never meets": NEVER,
            "search since or until a time": [
                Filter(text=text, **{name: time})
                for text in SEARCHES
                for name, time in (("since", middle), ("until", middle), ("since", last + 1))
            ],
        }
        count = int(300 * scale) or 1
        rows = [_search_row(history, *item, count) for item in filters.items()]
        turns = cycle(named)
        found = in_turns(
            count,
            10,
            page=lambda: timed(lambda: events_of(history, next(turns), limit=200)),
            find=lambda: timed(lambda: find_session(history, next(turns).session[:16])),
        )
        rows.append(_row("200 events of a session", found["page"]))
        rows.append(_row("find a session by the start of its name", found["find"]))
    return rows


def _search_row(history: History, what: str, wanted: list[Filter], count: int) -> Row:
    turns = cycle(wanted)
    found = in_turns(count, 10, search=lambda: timed(lambda: search(history, next(turns))))
    return _row(what, found["search"])


def _row(what: str, found: Samples) -> Row:
    return Row(what, found, goal="p95 ≤ 100 ms", reached=found.p95 <= 0.1)


def _commands(root: Path, scale: float) -> Iterator[Fact]:
    """Run a command hook on events, beside spawning the command as often on all processors."""
    count = max(40, int(COMMANDS * scale))
    few = count // 10
    processors = available_processors()
    project = root / "project"
    settings = project / ".claude" / "settings.json"
    settings.parent.mkdir(parents=True)
    hook = {"type": "command", "command": COMMAND}
    settings.write_text(json.dumps({"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [hook]}]}}))
    short = _run_commands(root / "few", project, few)
    long = _run_commands(root / "many", project, count)
    bare = timed(lambda: [spawn_bare([COMMAND], b"{}") for _ in range(count)]) / count
    each = (long - short) / (count - few)
    ratio = each * processors / bare
    words = (
        f"{ratio:.2f} times bare spawns / {processors} processors: {each * 1e3:.1f} ms each, "
        f"bare {bare * 1e3:.1f} ms"
    )
    yield Fact("command hooks", ratio, words, "≤ 1.1", ratio <= 1.1)
    start = max(0.0, short - few * each)
    yield Fact("start of the processes that run command hooks", start, f"{start:.1f} s")


def _run_commands(directory: Path, project: Path, count: int) -> float:
    """Return how many seconds a backtest of the hooks of a project on some events takes."""
    directory.mkdir()
    events = (event for event in recorded_events(directory) if event.event == "before_tool")
    with History.open(directory) as history:
        history.add(islice(events, count))
    parts = list(parts_of_history(str(directory), Filter()))
    subject = BacktestSubject(str(project), "project", agent="claude", trusted=True)
    return timed(lambda: run_backtest(subject, parts))


if __name__ == "__main__":
    _run_here(*sys.argv[1:])

"""How long each view of `anyhook ui` takes, over HTTP on loopback, on a store that is there.

The store is only read. The filters of the search are combined in pairs and triples.

python -m benchmarks.page DIRECTORY [--repeats N] [--json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import threading
import time
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlencode

import httpx
import uvicorn

from anyhook.history.store import History
from anyhook.page.access import Access
from anyhook.page.app import make_app
from anyhook.server.address import listen

FIRST_CONTENT_MS = 300.0
SEARCH_MS = 150.0
FILTERS = {
    "q": ("curl", "rm -rf", '"git status"', "nothingofthekind", "the return value", "curl stream"),
    "outcome": ("deny", "ask", "none"),
    "tool": ("shell", "glob", "web_search"),
    "event": ("before_tool", "session_start", "stop"),
    "agent": ("claude", "gemini"),
    "hook": ("guard.py", "slow.py", "other.py"),
    "session": (),
    "since": ("1d", "7d", "90d", "300d"),
    "until": ("1d", "30d", "300d"),
}
"""Filter of the search to its values; those of `session` are taken from the store."""


@dataclass(frozen=True, slots=True)
class Timing:
    """How long a view took.

    Attributes:
        path: Its address.
        first: Milliseconds to the first byte, the first time.
        again: Median of the milliseconds to the first byte, when it was shown again.
        whole: Median of the milliseconds to the last byte.
        cpu: Least milliseconds of processor time, of the server and of this client: what is left
            on a machine that does nothing else.
        size: Bytes.
    """

    path: str
    first: float
    again: float
    whole: float
    cpu: float
    size: int


class Server:
    """The page of a store, served in a thread."""

    def __init__(self, directory: Path) -> None:
        self._listening, address = listen("127.0.0.1", 0, is_guarded=True)
        self._home = TemporaryDirectory()
        access = Access("token", "secret", address.port)
        app = make_app(directory, access, Path(self._home.name))
        config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._listening],))
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)
        url = f"http://127.0.0.1:{address.port}"
        self._client = httpx.Client(
            base_url=url, cookies={access.cookie: access.cookie_value}, timeout=120
        )

    def close(self) -> None:
        """End it."""
        self._client.close()
        self._server.should_exit = True
        self._thread.join()
        self._listening.close()
        self._home.cleanup()

    def measure(self, path: str, repeats: int) -> Timing:
        """Measure a view."""
        times = [self._get(path) for _ in range(repeats + 1)]
        again = times[1:] or times
        return Timing(
            path,
            times[0][0],
            statistics.median([first for first, _, _, _ in again]),
            statistics.median([whole for _, whole, _, _ in again]),
            min(cpu for _, _, cpu, _ in times),
            times[0][3],
        )

    def _get(self, path: str) -> tuple[float, float, float, int]:
        start, cpu = time.perf_counter(), time.process_time()
        with self._client.stream("GET", path) as response:
            first = (time.perf_counter() - start) * 1000
            size = sum(len(part) for part in response.iter_bytes())
            response.raise_for_status()
        whole = (time.perf_counter() - start) * 1000
        return first, whole, (time.process_time() - cpu) * 1000, size


def views_of(directory: Path) -> dict[str, str]:
    """Return the addresses of views of the store."""
    with History.open(directory) as history:
        connection = history.connection
        last, end = connection.execute("SELECT max(id), max(time) FROM events").fetchone()
        largest = connection.execute(
            "SELECT agent, session FROM sessions ORDER BY events DESC LIMIT 1"
        ).fetchone()
        middle = connection.execute(
            "SELECT agent, session FROM sessions LIMIT 1 OFFSET (SELECT max(id) / 2 FROM sessions)"
        ).fetchone()
        denied = connection.execute(
            "SELECT max(id) FROM events WHERE outcome = 'deny' AND outcome <> 'none'"
        ).fetchone()[0]
        hooks = connection.execute("SELECT DISTINCT label, place FROM hooks LIMIT 3").fetchall()
        at = connection.execute(
            "SELECT events.id FROM events JOIN sessions ON sessions.id = session_id"
            " WHERE agent = ? AND session = ? ORDER BY time DESC LIMIT 1",
            largest,
        ).fetchone()[0]
    FILTERS["session"] = (largest[1], middle[1][:8])
    views = {
        "live": "/",
        "sessions": "/sessions",
        "sessions, agent": "/sessions?agent=claude",
        "sessions, other agent": "/sessions?agent=gemini",
        "sessions, since": "/sessions?since=300d",
        "sessions, far": f"/sessions?{urlencode({'before': f'{end / 2!r},{last // 2}'})}",
        "session, largest": "/session?" + urlencode({"agent": largest[0], "id": largest[1]}),
        "session, by its end": "/session?"
        + urlencode({"agent": largest[0], "id": largest[1], "at": at}),
        "session, prefix": "/session?" + urlencode({"id": middle[1][:8]}),
        "event, first": "/event/1",
        "event, middle": f"/event/{last // 2}",
        "event, last": f"/event/{last}",
        "event, denied": f"/event/{denied}",
        "denials": "/denials",
        "hooks": "/hooks",
        "problems": "/problems",
        "backtests": "/backtests",
        "report": "/report?" + urlencode({"agent": largest[0], "id": largest[1]}),
    }
    for label, place in hooks:
        views[f"hook {label}"] = "/hook?" + urlencode({"name": label, "place": place})
    return views


def searches() -> list[str]:
    """Return the addresses of searches: no filter, each alone, in pairs and in triples."""
    found = ["/search"]
    for size in (1, 2, 3):
        for names in combinations(FILTERS, size):
            found += [f"/search?{urlencode(one)}" for one in _values(names, size)]
    return found


def _values(names: tuple[str, ...], size: int) -> list[dict[str, str]]:
    """Return filters with values for some names; of triples only some."""
    chosen: list[dict[str, str]] = [{}]
    for name in names:
        values = FILTERS[name]
        chosen = [{**one, name: value} for one in chosen for value in values]
    return chosen if size < 3 else chosen[:: max(1, len(chosen) // 6)]


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--slowest", type=int, default=12, help="how many searches are listed")
    parser.add_argument("--views", action="store_true", help="leave the searches out")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    views = views_of(options.directory)
    server = Server(options.directory)
    try:
        server.measure("/static/page.js", 1)
        shown = {name: server.measure(path, options.repeats) for name, path in views.items()}
        paths = [] if options.views else searches()
        found = sorted(
            [server.measure(path, 1) for path in paths], key=lambda one: -max(one.first, one.again)
        )
    finally:
        server.close()
    if options.json:
        rows = {
            name: [one.first, one.again, one.whole, one.cpu, one.size]
            for name, one in shown.items()
        }
        slow = {one.path: [one.first, one.again] for one in found[: options.slowest]}
        print(json.dumps({"views": rows, "searches": len(found), "slowest": slow}))
        return
    print(f"{'view':24}{'first ms':>10}{'again ms':>10}{'whole ms':>10}{'cpu ms':>8}{'KiB':>6}")
    for name, one in shown.items():
        mark = " !" if max(one.first, one.again) > FIRST_CONTENT_MS else ""
        times = f"{one.first:10.1f}{one.again:10.1f}{one.whole:10.1f}"
        print(f"{name:24}{times}{one.cpu:8.1f}{one.size / 1024:6.0f}{mark}")
    over = [one for one in found if max(one.first, one.again) > SEARCH_MS]
    print(f"\n{len(found)} searches, {len(over)} above {SEARCH_MS:.0f} ms; the slowest:")
    for one in found[: options.slowest]:
        print(f"{one.first:10.1f}{one.again:10.1f}{one.cpu:8.1f}  {one.path}")


if __name__ == "__main__":
    main()

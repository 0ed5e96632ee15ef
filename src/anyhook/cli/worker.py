"""`anyhook worker`: the servers of warm hook files, and how to end them."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from anyhook.cli import OK
from anyhook.cli.colors import CAUTION, HEADING
from anyhook.cli.options import AsJson
from anyhook.cli.output import console, members, print_json
from anyhook.cli.render import make_table
from anyhook.manage.paths import show_path
from anyhook.model.text import count_of, printable
from anyhook.worker.control import (
    ServerEnd,
    ServerInfo,
    StopResult,
    find_runtime_directory,
    list_servers,
    stop_server,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from rich.table import Table


SLOW = 1.0
"""Seconds after which the command reports that it waits."""
MAX_REASONS = 5
"""Reasons of cold runs that are shown for each server."""
KIB_IN_MIB = 1024


def status(as_json: AsJson = False) -> int:
    """Show the warm workers, their events, and why hooks ran cold.

    There is one for each hook file and project. It starts at the first event, and ends by itself
    when there are none for a while.

    For example:

        anyhook worker status
        anyhook worker status --json
    """
    directory = find_runtime_directory(os.environ)
    servers = list_servers(directory)
    if as_json:
        print_json({"directory": directory, "workers": list(map(server_json, servers))})
        return OK
    out = console()
    if not servers:
        out.print(f"No worker runs (looked in {printable(directory)}).")
    running = [server.status for server in servers if server.status is not None]
    if running:
        out.print(_servers_table(running))
    cold: list[Mapping[str, Any]] = []
    for status in running:
        cold += status["cold"]
    for line in summarize_cold(cold)[:MAX_REASONS]:
        out.print(Text.assemble(("cold  ", CAUTION), line), soft_wrap=True)
    for server in servers:
        if server.status is None:
            label = "stale" if server.is_stale else "silent"
            hint = "; the next event starts a new worker there" if server.is_stale else ""
            text = f"  {printable(server.base)}: {server.problem}{hint}"
            out.print(Text.assemble((label, CAUTION), text), soft_wrap=True)
    return OK


def stop(
    everything: Annotated[
        bool, typer.Option("--all", help="Those of other interpreters too.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """End the workers of this interpreter.

    Hooks that run may finish; after five seconds they are killed. The next event starts a new
    worker, unless `ANYHOOK_WORKER=off` is set for the agent.

    For example:

        anyhook worker stop
        anyhook worker stop --all
    """
    directory = find_runtime_directory(os.environ)
    servers = [server for server in list_servers(directory) if not server.is_stale]
    this_python = Path(sys.executable)
    ended = []
    for server in servers:
        is_ended = everything
        if server.status is not None:
            # An interpreter has several names.
            python = Path(str(server.status.get("python")))
            is_here = python.parent == this_python.parent
            is_own = is_here and python.resolve() == this_python.resolve()
            is_ended = everything or is_own
        if is_ended:
            ended.append(server)
    others = len(servers) - len(ended)
    results = []
    for server in ended:
        with _waiting(f"waiting for {printable(server.base)}") as on_wait:
            results.append(stop_server(server.base, on_wait=on_wait))
    if as_json:
        print_json({"ended": list(map(_ended_json, results)), "others": others})
        return OK
    out = console()
    for result in results:
        hooks = f", with {', '.join(map(printable, result.busy))}" if result.busy else ""
        line = f"Worker {result.pid} did not end and was killed{hooks}."
        if result.how is ServerEnd.STOPPED:
            line = f"Worker {result.pid} has ended."
        elif result.how is ServerEnd.SILENT:
            line = f"{printable(result.base)}: {result.problem}."
        out.print(Text(line), soft_wrap=True)
    if not servers:
        out.print("No worker runs; there is nothing to stop.")
    if others:
        workers = count_of(others, "worker")
        out.print(
            f"{workers} of other interpreters, or that cannot be asked; end all of them "
            "with: anyhook worker stop --all",
            soft_wrap=True,
        )
    return OK


def _ended_json(result: StopResult) -> dict[str, Any]:
    return {
        "address": result.base,
        **members(result, "pid", "how"),
        "problem": result.problem or None,
        "hooks": result.busy,
    }


@contextmanager
def _waiting(text: str) -> Iterator[Callable[[float], None]]:
    """Yield a function to call with the seconds that have passed; it shows a text if they are many.

    The text stays until the block ends.
    """
    out = console(stderr=True)
    spinner = out.status(f"{text}, and for the hooks that it runs")

    def on_wait(seconds: float) -> None:
        if seconds > SLOW and out.is_terminal:
            spinner.start()

    try:
        yield on_wait
    finally:
        spinner.stop()


# -- output


def _servers_table(statuses: Sequence[Mapping[str, Any]]) -> Table:
    headings = ("worker", "hook", "python", "since", "warm", "cold", "state", "memory")
    fixed = ("worker", "since", "state", "memory")
    table = make_table(*headings, no_wrap=fixed, right=("warm", "cold", "memory"))
    for status in statuses:
        state = f"{len(status['running'])} busy" if status["running"] else "ready"
        if status["stopping"]:
            state = "ending"
        elif status["reason"]:
            state = "not warm"
        table.add_row(
            Text(str(status["pid"]), HEADING),
            Text(show_path(str(status["hook"]))),
            Text(show_path(str(status["python"]))),
            format_time(status["since"]),
            str(status["events"]["warm"]),
            str(status["events"]["cold"]),
            state,
            format_memory(status["memory_kib"]),
        )
    return table


def summarize_cold(entries: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a line for each reason why a hook ran cold, the newest first.

    The entries are those of the member `cold` of a status: hook, reason and time.
    """
    counts: Counter[tuple[str, str]] = Counter()
    last: dict[tuple[str, str], float] = {}
    for entry in sorted(entries, key=lambda entry: float(entry["at"])):
        key = str(entry["hook"]), str(entry["reason"])
        counts[key] += 1
        last[key] = entry["at"]
    lines = []
    for key in sorted(last, key=lambda key: -last[key]):
        hook, reason = key
        times = f" ({counts[key]} times), last" if counts[key] > 1 else ","
        line = f"{show_path(hook)}: {printable(reason)}{times} at {format_time(last[key])}"
        lines.append(line)
    return lines


def format_time(seconds: float) -> str:
    """Return a time of day, in the zone of the user."""
    return time.strftime("%H:%M:%S", time.localtime(seconds))


def format_memory(kib: int | None) -> str:
    """Return a size of memory; empty if it is unknown."""
    return "" if kib is None else f"{kib / KIB_IN_MIB:.1f} MiB"


def server_json(server: ServerInfo) -> dict[str, Any]:
    """Return a server as `--json` prints it."""
    return {
        "address": server.base,
        "status": server.status,
        "problem": server.problem or None,
        "stale": server.is_stale,
    }

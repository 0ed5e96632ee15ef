"""`anyhook worker`: what the warm workers do, and how to end them."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from anyhook.cli import OK
from anyhook.cli.options import AsJson
from anyhook.cli.output import console, print_json, show_path
from anyhook.model.text import printable
from anyhook.worker.control import directory_of, end, reason_of, workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from rich.console import Console

    from anyhook.worker.control import Found, StopResult

SLOW = 1.0
"""Seconds from which on people are told that something is waited for."""
REASONS = 5
"""Reasons for cold runs that are shown."""
KIB_IN_MIB = 1024

worker = typer.Typer(
    help="See and end the warm workers, which run hook files without starting an interpreter.",
    no_args_is_help=True,
)


@worker.command("status")
def status(as_json: AsJson = False) -> int:
    """Show the workers: what they have loaded, how much they did, and why hooks ran cold.

    A worker starts at the first event, and ends by itself when there are none for a while.

    For example:

        anyhook worker status
        anyhook worker status --json
    """
    directory = directory_of(os.environ)
    found = workers(directory)
    if as_json:
        print_json({"directory": directory, "workers": [found_json(one) for one in found]})
        return OK
    out = console()
    if not found:
        out.print(f"No worker runs (looked in {printable(directory)}).", markup=False)
    for one in found:
        if one.status is None:
            _print_silent(out, one.base, one.problem, is_stale=one.is_stale)
        else:
            _print_worker(out, one.status)
    return OK


@worker.command("stop")
def stop(
    everything: Annotated[
        bool, typer.Option("--all", help="Those of other interpreters too.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """End the workers of this interpreter, and wait until they are gone.

    Hooks that run may finish; after five seconds they are killed. The next event starts a new
    worker, unless `ANYHOOK_WORKER=off` is set for the agent.

    For example:

        anyhook worker stop
        anyhook worker stop --all
    """
    found = [one for one in workers(directory_of(os.environ)) if not one.is_stale]
    wanted = [one for one in found if everything or (one.status and _is_own(one.status))]
    others = len(found) - len(wanted)
    ended = []
    for one in wanted:
        with _waiting(f"waiting for {printable(one.base)}") as on_wait:
            ended.append(end(one.base, on_wait=on_wait))
    if as_json:
        print_json({"ended": list(map(_ended_json, ended)), "others": others})
        return OK
    out = console()
    for gone in ended:
        out.print(_told(gone), soft_wrap=True)
    if not found:
        out.print("No worker runs; there is nothing to stop.")
    if others:
        many = "workers" if others > 1 else "worker"
        out.print(
            f"{others} {many} of other interpreters, or that cannot be asked; end all of them "
            "with: anyhook worker stop --all",
            soft_wrap=True,
        )
    return OK


def _is_own(status: Mapping[str, Any]) -> bool:
    """Tell whether a worker is of this installation: the names of one interpreter are many."""
    there, here = Path(str(status.get("python"))), Path(sys.executable)
    return there.parent == here.parent and there.resolve() == here.resolve()


@contextmanager
def _waiting(what: str) -> Iterator[Callable[[float], None]]:
    """Yield what is told how long it takes; people see that only if it takes long."""
    out = console(stderr=True)
    shown = out.status(f"{what}, and for the hooks that it runs")

    def on_wait(seconds: float) -> None:
        if seconds > SLOW and out.is_terminal:
            shown.start()

    try:
        yield on_wait
    finally:
        shown.stop()


def _told(ended: StopResult) -> Text:
    how = {
        "stopped": f"Worker {ended.pid} has ended.",
        "killed": f"Worker {ended.pid} did not end and was killed"
        + (f", with {', '.join(map(printable, ended.busy))}." if ended.busy else "."),
        "silent": f"{printable(ended.base)}: {ended.problem}.",
    }
    return Text(how[ended.how])


# -- what is shown of a worker


def _print_worker(out: Console, told: Mapping[str, Any]) -> None:
    out.print(
        Text.assemble(
            (f"worker {told['pid']}", "bold cyan"),
            f"  anyhook {told['version']}  {show_path(str(told['python']))}",
            ("  ending" if told["stopping"] else "", "yellow"),
        ),
        soft_wrap=True,
    )
    events = told["events"]
    out.print(
        f"  since {moment(told['since'])}, {events['warm']} events warm, {events['cold']} cold, "
        f"{told['waiting']} waiting, {mib(told['memory_kib'])}",
        style="dim",
    )
    if told["executors"]:
        out.print(_hooks_table(told["executors"]))
    for line in reasons(told["cold"])[:REASONS]:
        out.print(Text.assemble(("  cold  ", "yellow"), line), soft_wrap=True)


def _hooks_table(executors: Iterable[Mapping[str, Any]]) -> Table:
    table = Table(box=None, padding=(0, 2), header_style="dim", pad_edge=True)
    for heading in ("hook", "directory", "events", "state", "memory"):
        right = heading in ("events", "memory")
        table.add_column(heading, justify="right" if right else "left", overflow="fold")
    for one in executors:
        state = "leased" if one["leased"] else "busy" if one["busy"] else "ready"
        table.add_row(
            Text(show_path(str(one["hook"]))),
            Text(show_path(str(one["directory"]))),
            str(one["events"]),
            state,
            mib(one["memory_kib"]),
        )
    return table


def _print_silent(out: Console, base: str, problem: str, *, is_stale: bool) -> None:
    what = "stale" if is_stale else "silent"
    hint = "; the next event puts a new worker there" if is_stale else ""
    text = Text.assemble((what, "yellow"), f"  {printable(base)}: {problem}{hint}")
    out.print(text, soft_wrap=True)


def reasons(cold: Iterable[Mapping[str, Any]]) -> list[str]:
    """Write why hooks ran cold, the newest first, the same ones together.

    Args:
        cold: What a worker tells of it, the oldest first.
    """
    newest_first = list(cold)[::-1]
    counts = Counter((str(one["hook"]), reason_of(one)) for one in newest_first)
    last = {(str(one["hook"]), reason_of(one)): one["at"] for one in newest_first[::-1]}
    return [
        f"{show_path(hook)}: {printable(reason)}"
        + (f" ({count} times)" if count > 1 else "")
        + f", {'last ' if count > 1 else ''}at {moment(last[hook, reason])}"
        for (hook, reason), count in counts.items()
    ]


def moment(seconds: float) -> str:
    """Write a time of day, in the zone of the user."""
    return time.strftime("%H:%M:%S", time.localtime(seconds))


def mib(kib: int | None) -> str:
    """Write a size of memory."""
    return "" if kib is None else f"{kib / KIB_IN_MIB:.1f} MiB"


def found_json(found: Found) -> dict[str, Any]:
    """Return a worker as programs read it."""
    return {
        "address": found.base,
        "status": found.status,
        "problem": found.problem or None,
        "stale": found.is_stale,
    }


def _ended_json(ended: StopResult) -> dict[str, Any]:
    return {
        "address": ended.base,
        "pid": ended.pid,
        "how": ended.how,
        "problem": ended.problem or None,
        "hooks": list(ended.busy),
    }

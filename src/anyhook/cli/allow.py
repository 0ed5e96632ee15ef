"""`anyhook allow`: let one denied call run once."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from anyhook.agents import get_agent
from anyhook.cli import OK
from anyhook.cli.colors import GOOD, QUIET
from anyhook.cli.options import AsJson
from anyhook.cli.output import console, members, print_json
from anyhook.cli.render import make_table
from anyhook.errors import UsageError
from anyhook.manage.approving import allow_call, revoke_approval
from anyhook.manage.paths import show_path
from anyhook.model.text import count_of, printable, shorten
from anyhook.trust.approvals import VALID_SECONDS, Approval, Approvals, DeniedCall

if TYPE_CHECKING:
    from rich.table import Table


MINUTES = int(VALID_SECONDS // 60)
CALL = ("id", "time", "hook", "agent", "tool", "arguments", "cwd", "project", "reason")
"""Members of a denied call."""
CallId = Annotated[
    str | None,
    typer.Argument(
        metavar="ID", help="The six characters that the denial showed.", show_default=False
    ),
]
ShowList = Annotated[
    bool, typer.Option("--list", help="Show the denied calls, and what was allowed in seven days.")
]
Revoke = Annotated[bool, typer.Option("--revoke", help="Take back what ID allows.")]


def allow(
    call_id: CallId = None,
    show_list: ShowList = False,
    revoke: Revoke = False,
    as_json: AsJson = False,
) -> int:
    """Allow a denied call: exactly this one, once, for ten minutes.

    The hook file then has no opinion on it. Denials of other hooks, and of the agent itself, stand.
    It works in a terminal of yours only, and not in one that an agent has started.

    For example:

        anyhook allow K3F9QX
        anyhook allow --list
        anyhook allow K3F9QX --revoke
    """
    if call_id is None and not revoke:
        _list_calls(as_json=as_json)
        return OK
    if call_id is None or show_list:
        raise UsageError(
            "name the call with its ID: anyhook allow ID, or anyhook allow ID --revoke"
        )
    approval = revoke_approval(call_id) if revoke else allow_call(call_id)
    if as_json:
        print_json({"allowed": not revoke, **_approval_json(approval)})
        return OK
    out = console()
    call = approval.call
    agent = (f"{get_agent(call.agent).title}  ", QUIET)
    text = Text.assemble(agent, (printable(call.tool), "bold"), f"  {printable(call.arguments)}")
    out.print(text, soft_wrap=True)
    hook = show_path(call.hook)
    out.print(Text(f"in {show_path(call.cwd)}, denied by {hook}", style=QUIET))
    if revoke:
        out.print(f"{hook} denies it again")
        return OK
    out.print(
        f"{hook} lets exactly this call run, once, within {MINUTES} minutes. "
        "Now tell the agent to try again.",
        soft_wrap=True,
    )
    return OK


def _list_calls(*, as_json: bool) -> None:
    approvals = Approvals()
    waiting, granted, used = approvals.waiting(), approvals.granted(), approvals.used()
    if as_json:
        print_json(
            {
                "denied": [members(call, *CALL) for call in waiting],
                "allowed": list(map(_approval_json, granted)),
                "used": list(map(_approval_json, used)),
            }
        )
        return
    out = console()
    if not waiting and not granted and not used:
        out.print("No hook file has denied a call in the last seven days.")
        return
    table = make_table("ID", "when", "hook", "call", "", no_wrap=("ID", "when"))
    for approval in granted:
        _add_row(table, approval.call, approval.granted, Text("allowed once", style=GOOD))
    for call in waiting:
        _add_row(table, call, call.time, Text("denied"))
    for approval in used:
        _add_row(table, approval.call, approval.used or 0.0, Text("ran", style=QUIET))
    out.print(table)
    if waiting:
        out.print(f"{count_of(len(waiting), 'denied call')}; to allow one once: anyhook allow ID")


def _add_row(table: Table, call: DeniedCall, when: float, state: Text) -> None:
    clock = time.strftime("%m-%d %H:%M", time.localtime(when))
    text = Text(f"{printable(call.tool)} {shorten(call.arguments)}")
    table.add_row(call.id, clock, Text(show_path(call.hook)), text, state)


def _approval_json(approval: Approval) -> dict[str, Any]:
    call = members(approval.call, *CALL)
    return {"call": call, **members(approval, "granted", "terminal", "used")}

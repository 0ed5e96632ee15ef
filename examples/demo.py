"""Fires the events of a short session at the hooks of `guarded-project` and shows who decided what.

python examples/demo.py [--svg FILE]     (or: make demo)
"""

import io
import json
import re
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from anyhook import SyncEngine
from anyhook.cli.output import console
from anyhook.cli.render import print_diagnostics
from anyhook.cli.timeline import print_timeline
from anyhook.engine.messages import discard
from anyhook.manage.agent_effect import fired_event

PROJECT = Path(__file__).parent / "guarded-project"
WIDTH = 118


def main() -> None:
    picture = sys.argv[2] if sys.argv[1:2] == ["--svg"] else None
    out = Console(record=True, width=WIDTH, file=io.StringIO()) if picture else console()
    out.print("[bold]$ anyhook fire --event-file events.jsonl --trust-once[/]")
    lines = (PROJECT / "events.jsonl").read_text(encoding="utf-8").splitlines()
    with (
        tempfile.TemporaryDirectory() as home,  # your own hooks stay out of the demo
        SyncEngine.load(PROJECT, home=home, trust_once=True, on_message=discard) as sync,
    ):
        print_diagnostics(out, sync.engine.diagnostics)
        for line in lines:
            event, notes = sync.engine.decode(json.loads(line))
            fired = fired_event(sync.engine, event, sync.dispatch(event))
            print_timeline(out, sync.engine, fired, notes)
    if picture:
        svg = out.export_svg(title="anyhook: who decided what")
        svg = re.sub(r"@font-face {.*?}\s*", "", svg, flags=re.DOTALL)  # no fonts from elsewhere
        Path(picture).write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()

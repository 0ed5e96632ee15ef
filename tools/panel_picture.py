"""Draw docs/panel.svg: `anyhook hooks` in a copy of the example project, after a real session.

python -m tools.panel_picture FILE.svg     (or: make picture)
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
SIZE = (104, 33)
CLAUDE = {
    "hooks": {
        "PreToolUse": [
            {
                "matcher": "Bash",
                "hooks": [{"type": "command", "command": ".gemini/hooks/shell_guard.sh"}],
            }
        ],
        "Stop": [{"hooks": [{"type": "command", "command": "python3 .claude/run_tests.py"}]}],
    }
}
SWITCHED_OFF = "tidy"
SELECTED = "shell-guard"
REPEATS = 6
"""How often the events of the example happen."""


def prepare(home: Path) -> Path:
    """Copy the example project into a home, and add hooks of a second agent."""
    project = home / "shop"
    shutil.copytree(ROOT / "examples" / "guarded-project", project)
    settings = project / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps(CLAUDE, indent=2), encoding="utf-8")
    (settings.parent / "run_tests.py").write_text("print('ok')\n", encoding="utf-8")
    return project


async def play(project: Path) -> None:
    """Fire the events of the example at its hooks, and record what they decide."""
    from anyhook.engine.engine import Engine
    from anyhook.engine.messages import discard
    from anyhook.history.ingest import ingest
    from anyhook.history.store import History

    lines = (project / "events.jsonl").read_text(encoding="utf-8").splitlines()
    engine = Engine.load(project, agent="gemini", record=True, on_message=discard)
    async with engine:
        for line in lines * REPEATS:
            event, _ = engine.decode(json.loads(line))
            await engine.dispatch(event)
    with History.open() as history:
        ingest(history)


async def draw() -> str:
    """Return a picture of the panel with one hook selected."""
    from anyhook.cli.panel.actions import take_snapshot
    from anyhook.cli.panel.app import PanelApp
    from anyhook.cli.panel.hook_list import HookList
    from anyhook.cli.panel.state import PanelState

    app = PanelApp(PanelState(None, take_snapshot(Path(), None)))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause(1.0)
        screen = app.screen
        while isinstance(screen, HookList):
            hook = screen.selected_hook()
            if hook is None or hook.row.label == SELECTED:
                break
            await pilot.press("down")
        await pilot.pause(1.5)  # its results are read
        return app.export_screenshot(title="anyhook hooks")


def main() -> None:
    """Draw the picture into the file that is named."""
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        os.environ.update(HOME=directory, ANYHOOK_DATA_DIR=str(home / "data"))
        os.environ.pop("NO_COLOR", None)
        project = prepare(home)
        os.chdir(project)
        from anyhook.cli import main as anyhook

        anyhook(["trust", "--yes", "--agent", "gemini"])
        asyncio.run(play(project))
        anyhook(["disable", SWITCHED_OFF, "--agent", "gemini"])
        svg = asyncio.run(draw())
    svg = re.sub(r"@font-face {.*?}\s*", "", svg, flags=re.DOTALL)  # no fonts from elsewhere
    Path(ROOT / sys.argv[1]).write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()

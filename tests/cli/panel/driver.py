"""Runs the panel without a terminal, presses its keys, and reads its screen."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from pathlib import Path
from unittest import mock

from textual._compositor import Compositor
from textual.widgets import Static

from anyhook.cli.panel.actions import take_snapshot
from anyhook.cli.panel.app import PanelApp
from anyhook.cli.panel.state import PanelState

LONGEST_WAIT = 20.0


class Driver:
    """The panel in a test.

    Args:
        app: The application.
        pilot: Presses its keys.
    """

    def __init__(self, app, pilot):
        self.app = app
        self.pilot = pilot

    @property
    def lines(self) -> list[str]:
        """The lines of the screen."""
        strips = self.app.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip).rstrip() for strip in strips]

    @property
    def text(self) -> str:
        """The screen."""
        return "\n".join(self.lines)

    @property
    def status(self) -> str:
        """What the last action has reported."""
        return str(self.app.screen.query_one("#status", Static).render())

    async def press(self, *keys: str) -> None:
        """Press keys."""
        await self.pilot.press(*keys)

    async def type(self, text: str) -> None:
        """Type a text."""
        for character in text:
            await self.pilot.press({" ": "space", "/": "slash"}.get(character, character))

    async def shows(self, *texts: str) -> None:
        """Wait until the screen shows some texts, line breaks aside."""
        await self.until(lambda: all(text in self._joined() for text in texts), texts)

    async def hides(self, text: str) -> None:
        """Wait until the screen does not show a text."""
        await self.until(lambda: text not in self._joined(), text)

    def _joined(self) -> str:
        return self.text + "\n" + " ".join(self.text.split())

    async def until(self, holds, expected: object = "") -> None:
        """Wait until something holds."""
        deadline = time.monotonic() + LONGEST_WAIT
        while not holds():
            assert time.monotonic() < deadline, f"{expected!r} is missing in:\n{self.text}"
            await self.pilot.pause(0.02)

    async def select(self, label: str) -> None:
        """Move down to a hook."""
        await self.press("home")
        for _ in range(50):
            hook = self.app.screen.selected_hook()
            if hook is not None and hook.row.label == label:
                return
            await self.press("down")
        raise AssertionError(f"{label} is missing in:\n{self.text}")


@asynccontextmanager
async def panel(size=(80, 24), agent=None):
    """Run the panel on the current directory."""
    app = PanelApp(PanelState(agent, take_snapshot(Path(), agent)))
    with mock.patch.object(Compositor, "render_update", skip_painting):
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            yield Driver(app, pilot)


def skip_painting(compositor, **_):
    """Paint nothing: without a terminal it is discarded, and `Driver.text` renders the screen."""
    compositor._dirty_regions.clear()


def in_loop(test):
    """Run a test on an event loop of asyncio, which is the one that textual has."""

    def run(**fixtures):
        asyncio.run(test(**fixtures))

    run.__name__ = test.__name__
    run.__doc__ = test.__doc__
    run.__signature__ = __import__("inspect").signature(test)
    return run

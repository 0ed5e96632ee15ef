"""Draw the live view of `anyhook ui` from a real run: python tools/page_picture.py docs/ui.png.

The hooks of `examples/guarded-project` decide calls in several sessions, in a home of their own.
Chromium is that of the system, or the one that ANYHOOK_CHROMIUM names.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import ViewportSize, sync_playwright

from anyhook import BeforeTool, Engine, SessionStart
from anyhook.engine.messages import discard

EXAMPLE = Path(__file__).parents[1] / "examples" / "guarded-project"
SIZE = ViewportSize(width=1280, height=860)
SESSIONS = {
    "7f3c9a41-2b6e": ["cat src/shop.py", "pytest -x tests", "rm -rf build", "git status --short"],
    "c05e17d2-88fa": ["rg -n price src", "rm -rf dist", "rm -rf dist", "rm -rf dist", "ls dist"],
    "19ab64f0-d3c7": ["npm run build", "git diff --stat", "git push"],
}
FILES = {
    "settings.py": "KEY = 'AKIAIOSFODNN7EXAMPLE'\n",
    "src/shop.py": "def price(net):\n    return net * 1.19   \n",
}


async def record(project: Path) -> None:
    """Let the hooks of the example decide some calls."""
    async with Engine.load(project, trust_once=True, record=True, on_message=discard) as engine:
        for session, commands in SESSIONS.items():
            await engine.dispatch(SessionStart(session_id=session, source="startup"))
            for command in commands:
                await _call(engine, session, "run_shell_command", command=command)
            for path, content in FILES.items():
                await _call(engine, session, "write_file", file_path=path, content=content)


async def _call(engine: Engine, session: str, tool: str, **arguments: str) -> None:
    await engine.dispatch(BeforeTool(session_id=session, tool_name=tool, tool_input=arguments))


def draw(project: Path, file: str) -> None:
    """Serve the page, and take a picture of it."""
    chromium = os.environ.get("ANYHOOK_CHROMIUM") or shutil.which("chromium")
    if chromium is None:
        sys.exit("there is no Chromium; on Debian: apt-get install chromium")
    command = [sys.executable, "-m", "anyhook", "ui", "--port", "0", "--json"]
    with subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE, text=True) as server:
        try:
            line = server.stdout.readline() if server.stdout else ""
            address = json.loads(line)["url"]
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(
                    executable_path=chromium, args=["--no-sandbox"]
                )
                page = browser.new_page(viewport=SIZE, color_scheme="light")
                page.goto(address)
                page.wait_for_selector(".live-state.open")
                page.wait_for_selector("#sessions li")
                page.screenshot(path=file)
                browser.close()
        finally:
            server.terminate()


def main() -> None:
    """Make the picture."""
    file = str(Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory, "home")
        home.mkdir()
        os.environ |= {"HOME": str(home), "ANYHOOK_DATA_DIR": str(home / "data")}
        project = Path(directory, "shop")
        shutil.copytree(EXAMPLE, project)
        asyncio.run(record(project))
        draw(project, file)


if __name__ == "__main__":
    main()

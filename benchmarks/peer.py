"""Gemini CLI's own hook system, driven through a node process; fetched from npm once."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Self

HERE = Path(__file__).parent
CACHE = HERE / ".cache"
PACKAGE = "@google/gemini-cli-core"
VERSION = "0.61.0"
MINUTES = 5


def install_core() -> Path | None:
    """Install the package unless it is there; `None` where there is no node or no network."""
    if not (shutil.which("node") and shutil.which("npm")):
        return None
    core = CACHE / "node_modules" / PACKAGE
    if not (core / "package.json").exists():
        print(f"fetching {PACKAGE} {VERSION} (once)", flush=True)
        command = ["npm", "install", "--silent", "--no-audit", "--no-fund"]
        try:
            subprocess.run(
                [*command, "--prefix", str(CACHE), f"{PACKAGE}@{VERSION}"],
                check=False,
                timeout=MINUTES * 60,
                capture_output=True,
            )
        except subprocess.TimeoutExpired:
            return None
    return core if (core / "package.json").exists() else None


class GeminiCore:
    """One node process that fires events on request."""

    def __init__(self, core: Path) -> None:
        self.process = subprocess.Popen(
            ["node", str(HERE / "gemini_core.mjs")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "GEMINI_CORE": str(core)},
            text=True,
        )

    @classmethod
    def start(cls) -> Self | None:
        """Start it, installing the package first; `None` where there is no node or no network."""
        core = install_core()
        return cls(core) if core else None

    def fire(self, settings: dict[str, Any], cwd: Path, tool_input: dict[str, Any]) -> float:
        """Fire one event before a tool. Returns the seconds, measured inside node."""
        if self.process.stdin is None or self.process.stdout is None:
            raise RuntimeError("the node process has no pipes")
        request = {
            "settings": settings,
            "cwd": str(cwd),
            "tool_name": "write_file",
            "tool_input": tool_input,
        }
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        wanted = sum(len(d["hooks"]) for d in settings["hooks"]["BeforeTool"])
        if answer["hooks"] != wanted:
            raise RuntimeError(f"{answer['hooks']} of {wanted} hooks answered")
        return float(answer["ms"]) / 1000

    def close(self) -> None:
        """End it."""
        self.process.kill()
        self.process.communicate()

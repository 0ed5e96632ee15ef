"""The real hook system of Gemini CLI, in a node process that answers line by line."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

DRIVER = Path(__file__).with_name("core.mjs")


class CoreError(Exception):
    """The driver failed, which says nothing about hooks."""


class Core:
    """One node process; it answers one request at a time.

    Args:
        package: Directory of the installed package.
        home: Directory that the process takes for its user's home.
    """

    def __init__(self, package: Path, home: Path) -> None:
        self._errors = (home / "core-stderr.txt").open("w+", encoding="utf-8")
        self._process = subprocess.Popen(
            ["node", str(DRIVER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={"PATH": os.environ["PATH"], "HOME": str(home), "GEMINI_CORE": str(package)},
            text=True,
            encoding="utf-8",
        )

    def ask(self, request: dict[str, Any]) -> None:
        """Send a request; `answer` waits for what it says."""
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        """Wait for the answer to the request that was sent.

        Raises:
            CoreError: If there is none.
        """
        line = self._process.stdout.readline()
        if not line:
            self._errors.seek(0)
            raise CoreError(f"node ended: {self._errors.read()[-2000:]}")
        answer = json.loads(line)
        if "error" in answer:
            raise CoreError(answer["error"])
        return answer

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()
        self._errors.close()

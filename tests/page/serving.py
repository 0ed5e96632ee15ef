"""A page that is served by the real command, and events for its history."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
import time
from html import unescape
from pathlib import Path

import httpx
import uvicorn

from anyhook.history.events import RecordedEvent, RecordedResult
from anyhook.history.store import History
from anyhook.journal.lines import append, history_directory
from anyhook.page.access import Access
from anyhook.page.app import make_app
from anyhook.server.address import listen
from tests.waiting import until

PLACE = "/p/.gemini/settings.json:4"
NOW = time.time()


def event(command="ls", *, outcome="none", session="s1", reason="", number=0, **fields):
    """Return a recorded call of the shell with the answer of one hook."""
    decision = {}
    if outcome != "none":
        blame = [{"hook": "guard.py", "place": PLACE}]
        decision = {"outcome": outcome, "reason": reason, "blame": {"outcome": blame}}
    result = RecordedResult(
        hook="guard.py",
        place=PLACE,
        answer={"outcome": outcome, "reason": reason} if decision else {},
        duration=0.012,
        exit_code=0,
    )
    payload = {
        "session_id": session,
        "hook_event_name": "BeforeTool",
        "tool_name": "run_shell_command",
        "tool_input": {"command": command},
    }
    values = {
        "agent": "gemini",
        "session": session,
        "event": "before_tool",
        "time": NOW - 3600 + number,
        "payload": payload,
        "source": "engine",
        "project": "/p",
        "tool": "shell",
        "decision": decision,
        "results": (result,),
    }
    return RecordedEvent(**{**values, **fields})


def store(*events):
    """Store events in the history of this test."""
    with History.open() as history:
        history.add(events)


def record(command, *, outcome="none", session="live", reason="not here"):
    """Write an event to the journal, as an engine does."""
    decision = {} if outcome == "none" else {"outcome": outcome, "reason": reason}
    append(
        history_directory(),
        {
            "agent": "gemini",
            "time": time.time(),
            "event": "before_tool",
            "session": session,
            "project": "/p",
            "source": "engine",
            "payload": {
                "session_id": session,
                "hook_event_name": "BeforeTool",
                "tool_name": "run_shell_command",
                "tool_input": {"command": command},
            },
            "decision": decision,
            "results": [{"hook": "guard.py", "place": PLACE, "answer": decision}],
        },
    )


class Served:
    """The page, served by uvicorn in a thread of the test.

    Args:
        project: Directory of the project.
        port: Port; 0 for any that is free.
    """

    def __init__(self, project: Path, port: int = 0) -> None:
        self._listening, address = listen("127.0.0.1", port, is_guarded=True)
        directory = Path(history_directory())
        access = Access.load(directory, address.port)
        self.form_token = access.form_token
        app = make_app(directory, access, project)
        config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=5)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._listening],))
        self._thread.start()
        until(lambda: self._server.started)
        self._connect(access.url)

    def _connect(self, first):
        self.first = first
        self.url = self.first.partition("/?")[0]
        self.port = int(self.url.rpartition(":")[2])
        self.client = httpx.Client(base_url=self.url, headers={"Origin": self.url}, timeout=20)

    def close(self):
        """End it."""
        self.client.close()
        self._server.should_exit = True
        self._thread.join()
        self._listening.close()

    def open(self):
        """Open the first address; the client has the cookie then."""
        response = self.client.get(self.first)
        assert response.status_code == 200, response.text
        return self

    def get(self, path, **options):
        """Return a view as text."""
        response = self.client.get(path, **options)
        assert response.status_code == 200, response.text
        return response.text

    def post(self, path, /, **fields):
        """Send a form with its token."""
        return self.client.post(path, data={"token": self.form_token, **fields})


class Command(Served):
    """The command `anyhook ui` in a process of its own.

    Args:
        project: Directory of the project.
        port: Port; 0 for any that is free.
    """

    def __init__(self, project: Path, port: int = 0) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "anyhook", "ui", "--port", str(port), "--json"],
            cwd=project,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        self._connect(json.loads(line)["url"])

    def interrupt(self):
        """End it as Ctrl-C does. Returns its exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(20)

    def close(self):
        """End it."""
        self.client.close()
        self.process.kill()
        self.process.communicate()


def text_of(page):
    """Return the texts of a page, roughly as they are read."""
    page = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


def links_of(page):
    """Return the addresses that a page links to."""
    return [unescape(address) for address in re.findall(r'href="([^"]*)"', page)]

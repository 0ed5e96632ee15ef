"""The cases that were observed in Qwen Code 0.24.4, against the `observed` rules in the engine."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.agents.qwen_session import QwenSession, differences
from tests.world import World

CASES = json.loads((Path(__file__).parent / "observed" / "qwen.json").read_text(encoding="utf-8"))
PREDICTED = [case for case in CASES if "beyond" not in case]


class Service(BaseHTTPRequestHandler):
    """Answers like the service that HTTP hooks were tried with."""

    replies: ClassVar = {
        "/deny": ("application/json", {"decision": "deny", "reason": "HTTP-DENY"}),
        "/hso": (
            "application/json",
            {
                "hookSpecificOutput": {
                    "permissionDecision": "deny",
                    "permissionDecisionReason": "HTTP-HSO",
                }
            },
        ),
        "/jsontext": ("text/plain", {"decision": "deny", "reason": "TEXT"}),
    }

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.server.headers_seen.append(dict(self.headers))  # type: ignore[attr-defined]
        if self.path == "/slow":
            self.server.released.wait(20)  # type: ignore[attr-defined]
        kind, reply = self.replies.get(self.path, ("text/plain", "?"))
        body = json.dumps(reply).encode()
        self.send_response(200 if self.path in self.replies else 500)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: Any) -> None:
        """Say nothing."""


@pytest.fixture
def service() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    server.headers_seen = []  # type: ignore[attr-defined]
    server.released = threading.Event()  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.released.set()  # type: ignore[attr-defined]
    server.shutdown()
    server.server_close()
    thread.join()


def fill(value: Any, world: World, base: str) -> Any:
    """Put the directories of this test and the URL of the service into a case."""
    if isinstance(value, str):
        value = value.replace("{project}", str(world.project)).replace("{home}", str(world.home))
        return base + value if value in ("/deny", "/hso", "/500", "/slow", "/jsontext") else value
    if isinstance(value, list):
        return [fill(item, world, base) for item in value]
    if isinstance(value, dict):
        if value.keys() == {"repeat", "times"}:
            return value["repeat"] * value["times"]
        return {fill(key, world, base): fill(item, world, base) for key, item in value.items()}
    return value


@pytest.mark.slow
@pytest.mark.parametrize("case", PREDICTED, ids=[f"{c['id']}-{c['name']}" for c in PREDICTED])
def test_the_observed_rules_predict_what_the_program_did(case, tmp_path, service):
    world = World(tmp_path, agent="qwen")
    base = f"http://127.0.0.1:{service.server_address[1]}"
    case = fill(case, world, base)
    world.environ |= case.get("environment", {})
    world.environ["QWEN_CODE_SYSTEM_SETTINGS_PATH"] = str(world.system / "settings.json")
    (world.project / "notes.txt").write_text("alpha\n")
    for layer, settings in case["settings"].items():
        world.settings(layer, settings)
    for path, text in case.get("files", {}).items():
        world.write(Path(path), text)
    answers = list(case.get("answers", []))

    async def ask(_question: Any) -> str:
        return answers.pop(0) if answers else 1 // 0

    engine = world.load(rules="observed", trust_once=case.get("trusted", True), ask=ask)
    run = asyncio.run(QwenSession(engine, case, str(world.project)).play())

    files = {path.name: path.read_text() for path in world.project.glob("*.txt")}
    assert differences(case, run, files) == {}
    if "header" in case["observed"]:
        assert service.headers_seen[0]["x-tok"] == case["observed"]["header"]


def test_the_table_holds_the_cases_and_says_why_some_are_not_predicted():
    assert len(CASES) == 265
    assert len(PREDICTED) >= 240
    assert len({case["id"] for case in CASES}) == len(CASES)

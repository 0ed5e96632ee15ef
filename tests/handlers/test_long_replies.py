"""Replies that are longer than other output may be: a denial in one is not lost."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from anyhook import BeforeTool
from tests.world import World

pytestmark = pytest.mark.anyio
WRITE = BeforeTool(tool_name="Write", tool_input={"file_path": "a", "content": "b"})
VERDICT = {
    "hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"},
    "reason": "no",
}
MIB = 1024 * 1024
FILLER = {"filler": "x" * (2 * MIB)}
TOO_MUCH = {"filler": "x" * (16 * MIB)}
REPLIES = {
    "decision first": json.dumps(VERDICT | FILLER),
    "decision last": json.dumps(FILLER | VERDICT),
    "after blanks": " \n" * MIB + json.dumps(VERDICT),
}


@pytest.fixture
def world(tmp_path):
    return World(tmp_path, agent="claude")


def command(text, world):
    """Write a command line that prints a text."""
    (world.root / "reply").write_text(text)
    return {"type": "command", "command": f"cat {world.root / 'reply'}"}


@contextmanager
def serving(text):
    """Answer every request on the loopback interface with a text; gives the URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *_: None
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def decide(world, *handlers, **options):
    world.settings("user", {"hooks": {"PreToolUse": [{"hooks": list(handlers)}]}})
    async with world.load(**options) as engine:
        return await engine.dispatch(WRITE)


@pytest.mark.parametrize("which", REPLIES)
async def test_a_command_denies_with_a_long_reply(world, which):
    decision = await decide(world, command(REPLIES[which], world))

    assert decision.denied
    assert "output-truncated" not in {d.code for d in decision.diagnostics}


async def test_a_low_limit_of_output_does_not_cut_replies(world):
    decision = await decide(world, command(REPLIES["decision last"], world), output_limit=100)

    assert decision.denied


@pytest.mark.slow
async def test_a_reply_that_is_too_long_to_be_read_is_an_error(world):
    decision = await decide(world, command(json.dumps(TOO_MUCH | VERDICT), world))

    (result,) = decision.results
    assert (result.status, result.failed) == ("failed", True)
    assert ("reply-too-long", "error") in {(d.code, d.severity) for d in decision.diagnostics}
    assert not decision.denied


@pytest.mark.parametrize("text", [json.dumps(TOO_MUCH | VERDICT), " " * 20 * MIB + "{}"])
async def test_a_reply_that_is_too_long_to_be_read_denies_where_failures_do(world, text):
    decision = await decide(world, command(text, world) | {"onFailure": "block"})

    assert decision.denied
    assert "failed-closed" in {d.code for d in decision.diagnostics}


@pytest.mark.slow
async def test_exit_code_2_denies_however_long_the_reply_is(world):
    handler = command(json.dumps(TOO_MUCH | VERDICT), world)
    handler["command"] += "; exit 2"

    decision = await decide(world, handler)

    assert decision.denied
    assert "exit code 2" in decision.reason


async def test_other_output_is_cut_at_the_limit(world):
    decision = await decide(world, command("x" * 2 * MIB, world))

    (result,) = decision.results
    assert len(result.stdout) == MIB
    assert (result.status, result.failed) == ("ran", False)


@pytest.mark.parametrize("which", REPLIES)
async def test_a_service_denies_with_a_long_reply(world, which):
    with serving(REPLIES[which]) as url:
        decision = await decide(world, {"type": "http", "url": url})

    assert decision.denied


async def test_a_service_whose_reply_is_too_long_has_failed(world):
    with serving(json.dumps(TOO_MUCH | VERDICT)) as url:
        decision = await decide(world, {"type": "http", "url": url, "onFailure": "block"})

    assert decision.denied
    assert "failed-closed" in {d.code for d in decision.diagnostics}

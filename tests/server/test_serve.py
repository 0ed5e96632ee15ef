"""`anyhook serve`: the real command, asked over real connections."""

from __future__ import annotations

import asyncio
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import textwrap
import threading
from contextlib import ExitStack, contextmanager, suppress
from urllib.parse import urlsplit

import httpx
import pytest

from anyhook import BeforeTool
from anyhook.errors import UsageError
from anyhook.handlers.network import is_loopback
from anyhook.model.answers import Outcome
from anyhook.server.address import Address, listen
from anyhook.server.http import MAX_PAYLOAD_SIZE, make_app
from anyhook.server.responder import Responder
from anyhook.testing import make_payload, run_hook
from tests.waiting import until
from tests.world import World, command

pytestmark = pytest.mark.slow

with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
    try:
        probe.connect(("192.0.2.1", 9))  # sends nothing
        OWN_ADDRESS = probe.getsockname()[0]
    except OSError:  # a machine without a network
        OWN_ADDRESS = "127.0.0.1"
TOKEN = "correct-horse-battery"
SECRET = "AKIA-do-not-tell"
GUARD = """
    from anyhook.authoring import Hooks, allow, ask, context, deny, message, stop

    hooks = Hooks()

    @hooks.before_tool("shell")
    def guard(event):
        print("noise")
        if "AKIA" in event.text:
            return deny("no keys")
        if "sudo" in event.text:
            return ask("as root?")
        if event.call.command == "ls":
            return allow(approve=True)
        if event.call.command == "make":
            return event.rewrite(command="make -n")

    @hooks.after_agent
    def finish(event):
        return ask("sure?")

    @hooks.before_prompt
    async def hint(event):
        return context("The tests run with make.")

    if __name__ == "__main__":
        hooks.run()
"""
EVENTS = {
    "a denial": ("before_tool", {"tool": "shell", "input": {"command": "echo AKIA"}}),
    "a question": ("before_tool", {"tool": "shell", "input": {"command": "sudo ls"}}),
    "an approval": ("before_tool", {"tool": "shell", "input": {"command": "ls"}}),
    "other arguments": ("before_tool", {"tool": "shell", "input": {"command": "make"}}),
    "no opinion": ("before_tool", {"tool": "shell", "input": {"command": "pwd"}}),
    "what an agent cannot do": ("after_agent", {}),
    "context": ("before_prompt", {"prompt": "hello"}),
    "an event of no function": ("session_end", {"reason": "exit"}),
}


class Served:
    """A server in a process of its own."""

    def __init__(self, process, ready):
        self.process, self.ready = process, ready
        self.url = ready["url"]
        self.port = urlsplit(self.url).port
        self.out = self.err = ""
        self.client = httpx.Client(trust_env=False, timeout=30)

    def post(self, payload, **headers):
        return self.client.post(self.url, json=payload, headers=headers)

    def fire(self, event="before_tool", agent="claude", **fields):
        response = self.post(make_payload(event, agent=agent, **fields))
        assert response.status_code == 200, response.text
        return response.json()

    def shell(self, line, agent="claude"):
        return self.fire(agent=agent, tool="shell", input={"command": line})

    def end(self, how=signal.SIGTERM):
        self.client.close()
        if self.process.poll() is None:
            self.process.send_signal(how)
        out, err = self.process.communicate(timeout=30)
        self.out, self.err = self.out + out, self.err + err
        return self.process.returncode

    def all_output(self):
        """End it, and return all that it ever wrote."""
        self.end()
        return self.out + self.err


def start(*arguments, prefix=(), **options):
    return subprocess.Popen(
        [*prefix, sys.executable, "-m", "anyhook", "serve", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


@contextmanager
def serving(*arguments, env=None, **options):
    env = {**os.environ, **(env or {})}
    process = start(*arguments, "--port", 0, "--json", env=env, **options)
    line = process.stdout.readline()
    if not line:
        pytest.fail(process.communicate()[1])
    server = Served(process, json.loads(line))
    server.out = line
    try:
        yield server
    finally:
        if process.returncode is None:
            server.end()


@pytest.fixture
def hook_file(tmp_path):
    def write(text=GUARD, name="guard.py"):
        path = tmp_path / name
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    return write


def refused(*arguments, env=None):
    """Run a command that must not serve; returns what it says."""
    process = start(*arguments, env={**os.environ, **(env or {})})
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (64, "")
    return err


# -- decisions


def test_an_event_gets_the_answer_that_the_file_gives_as_a_command(world, hook_file):
    file = hook_file()
    with serving(file) as server:
        for what, (event, fields) in EVENTS.items():
            for agent in ("claude", "gemini", "terminai", "generic"):
                payload = make_payload(event, agent=agent, **fields)
                ran = run_hook(file, payload, agent=agent, process=True)
                response = server.post(payload)

                assert ran.exit_code == 0, ran.stderr
                assert response.status_code == 200, (what, agent)
                assert response.headers["content-type"] == "application/json"
                assert response.json() == json.loads(ran.stdout), (what, agent)


def test_the_path_makes_no_difference(world, hook_file):
    with serving(hook_file()) as server:
        payload = make_payload(*EVENTS["a denial"][:1], agent="claude", **EVENTS["a denial"][1])
        answer = server.client.post(f"{server.url}hooks/any?x=1", json=payload)

        assert answer.json()["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_an_engine_asks_it_like_any_service(world, hook_file, tmp_path):
    claude = World(tmp_path / "claude", agent="claude")
    with serving(hook_file()) as server:
        entry = {"hooks": [{"type": "http", "url": server.url}]}
        hooks = {"PreToolUse": [entry], "UserPromptSubmit": [entry]}
        claude.settings("user", {"hooks": hooks})

        async def decide(event):
            async with claude.load() as engine:
                return await engine.dispatch(event)

        def shell(line):
            return BeforeTool(tool_name="Bash", tool_input={"command": line})

        denied = asyncio.run(decide(shell("echo AKIA")))
        allowed = asyncio.run(decide(shell("ls")))
        prompt = asyncio.run(
            decide(
                claude.load().decode(make_payload("before_prompt", agent="claude", prompt="hello"))[
                    0
                ]
            )
        )

    assert (denied.outcome, denied.reason) == (Outcome.DENY, "no keys")
    assert (allowed.outcome, allowed.approve) == (Outcome.ALLOW, True)
    assert prompt.context == ("The tests run with make.",)
    assert denied.diagnostics == allowed.diagnostics == prompt.diagnostics == ()


def test_many_are_answered_at_once(world, hook_file):
    """Eight functions wait for one another: one after the other they would never meet."""
    file = hook_file("""
        import threading
        from anyhook.authoring import Hooks, deny

        hooks = Hooks()
        all_here = threading.Barrier(8, timeout=20)

        @hooks.before_tool
        def meet(event):
            all_here.wait()
            return deny("met")
    """)

    async def fire(server):
        async with httpx.AsyncClient(trust_env=False, timeout=30) as client:
            payload = make_payload("before_tool", agent="claude", tool="shell", input={})
            posts = (client.post(server.url, json=payload) for _ in range(8))
            return await asyncio.gather(*posts)

    with serving(file) as server:
        answers = asyncio.run(fire(server))

    assert ["met" in answer.text for answer in answers] == [True] * 8


def test_who_goes_away_ends_the_hooks_that_ran_for_it(world, hook_file, tmp_path):
    file = hook_file(f"""
        import asyncio
        from pathlib import Path
        from anyhook.authoring import Hooks

        hooks = Hooks()
        here = Path({str(tmp_path)!r})

        @hooks.before_tool
        async def wait(event):
            (here / "began").touch()
            try:
                await asyncio.Event().wait()
            finally:
                (here / "ended").touch()
    """)
    body = json.dumps(make_payload("before_tool", agent="claude", tool="shell", input={}))
    with serving(file) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(head(server.port, len(body)) + body.encode())
            until((tmp_path / "began").exists, "the hook does not begin")
        until((tmp_path / "ended").exists, "the hook runs on")

        assert server.client.get(f"{server.url}health").status_code == 200


def test_an_agent_that_is_named_is_not_guessed(world, hook_file):
    payload = make_payload("before_tool", agent="gemini", tool="shell", input={"command": "AKIA"})
    with serving(hook_file(), "--agent", "terminai") as server:
        assert server.ready["agent"] == "terminai"
        payload["tool_name"] = "run_terminal_command"
        assert server.post(payload).json() == {"decision": "deny", "reason": "no keys"}
        answer = server.post({**payload, "hook_event_name": "BeforeTol"})

    assert answer.status_code == 422
    assert "did you mean 'BeforeTool'" in answer.json()["error"]


# -- functions that fail


CRASHES = """
    from anyhook.authoring import Hooks, deny, stop

    hooks = Hooks(OPTIONS)

    @hooks.before_tool
    def guard(event):
        raise ValueError(event.text)

    @hooks.after_tool
    async def later(event):
        raise ValueError(event.text)

    @hooks.before_prompt
    def nonsense(event):
        return 7
"""


def test_a_function_that_crashes_has_no_opinion_and_the_user_gets_a_message(world, hook_file):
    with serving(hook_file(CRASHES.replace("OPTIONS", ""))) as server:
        reply = server.shell(SECRET)
        later = server.fire("after_tool", tool="shell", input={"command": SECRET})
        nonsense = server.fire("before_prompt", prompt=SECRET)
        written = server.all_output()

    assert reply == {"systemMessage": "hook guard (guard.py:6) failed; its result was ignored"}
    assert later == {"systemMessage": "hook later (guard.py:10) failed; its result was ignored"}
    assert nonsense == {
        "systemMessage": "hook nonsense (guard.py:14) failed; its result was ignored"
    }
    assert "PreToolUse: hook guard (guard.py:6) failed" in written
    assert "ValueError" in written
    assert "nonsense returned int" in written
    assert SECRET not in written


def test_a_function_that_must_not_fail_denies_when_it_crashes(world, hook_file):
    with serving(hook_file(CRASHES.replace("OPTIONS", "on_crash='deny'"))) as server:
        reply = server.shell(SECRET)["hookSpecificOutput"]
        written = server.all_output()

    assert reply["permissionDecision"] == "deny"
    assert "guard" in reply["permissionDecisionReason"]
    assert SECRET not in written + json.dumps(reply)


def test_a_file_that_refuses_to_do_less_counts_it_as_a_crash(world, hook_file):
    file = hook_file("""
        from anyhook.authoring import Hooks, deny

        hooks = Hooks(unsupported="refuse")

        @hooks.before_tool("write_file")
        def change(event):
            return deny("not this", tool_output="instead")

        @hooks.before_tool("shell")
        def respond(event):
            return event.rewrite(command="ls").replace(clear_context=True)
    """)
    with serving(file) as server:
        denied = server.fire(tool="write_file", input={"file_path": "a", "content": "b"})
        refused_one = server.shell("make")
        written = server.all_output()

    assert denied["hookSpecificOutput"]["permissionDecisionReason"] == "not this"
    assert refused_one["systemMessage"].endswith("failed; its result was ignored")
    assert "UnsupportedError: Claude Code has no clearing the context" in written


# -- files that change


def test_an_edited_file_decides_from_the_next_event_on(world, hook_file):
    text = """
        from anyhook.authoring import Hooks, deny

        hooks = Hooks()

        @hooks.before_tool
        def guard(event):
            return deny("WHY")
    """

    def reason(server):
        return server.shell("ls")["hookSpecificOutput"]["permissionDecisionReason"]

    file = hook_file(text.replace("WHY", "one"))
    os.utime(file, ns=(1, 1))
    with serving(file, env={"PYTHONDONTWRITEBYTECODE": ""}) as server:
        assert reason(server) == "one"
        hook_file(text.replace("WHY", "two"))
        os.utime(file, ns=(2, 2))  # within the second of the first, and of the same length
        assert reason(server) == "two"
        hook_file("this is no Python")
        assert reason(server) == "two"
        assert reason(server) == "two"
        file.unlink()
        assert reason(server) == "two"
        hook_file(text.replace("WHY", "three"))
        assert reason(server) == "three"
        written = server.all_output()

    assert written.count("; the previous version stays") == 2
    assert "cannot be imported: SyntaxError" in written


def test_an_edited_module_decides_from_the_next_event_on(world, hook_file):
    file = hook_file("""
        from anyhook.authoring import Hooks, deny
        from words import WHY

        hooks = Hooks()

        @hooks.before_tool
        def guard(event):
            return deny(WHY)
    """)
    module = file.parent / "words.py"
    module.write_text("WHY = 'one'")

    def reason(server):
        return server.shell("ls")["hookSpecificOutput"]["permissionDecisionReason"]

    with serving(file) as server:
        assert reason(server) == "one"
        module.write_text("WHY = 'another'")
        assert reason(server) == "another"
        module.write_text("this is no Python")
        assert reason(server) == "another"
        module.write_text("WHY = 'corrected'")
        assert reason(server) == "corrected"
        written = server.all_output()

    assert written.count("; the previous version stays") == 1


def test_an_edit_counts_although_whoever_asked_first_went_away(world, hook_file):
    text = """
        from anyhook.authoring import Hooks, deny

        hooks = Hooks()

        @hooks.before_tool
        def guard(event):
            return deny("WHY")
    """
    gate = world.root / "gate"
    os.mkfifo(gate)
    file = hook_file(text.replace("WHY", "one"))
    os.utime(file, ns=(1, 1))
    body = json.dumps(make_payload("before_tool", agent="claude", tool="shell", input={}))
    with serving(file) as server:
        hook_file(f"open({str(gate)!r}).read()\n" + textwrap.dedent(text.replace("WHY", "two")))
        asked = socket.create_connection(("127.0.0.1", server.port))
        asked.sendall(
            f"POST / HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Length: {len(body)}\r\n"
            f"Content-Type: application/json\r\n\r\n{body}".encode()
        )
        with gate.open("w"):  # it is open once the file is being imported
            asked.close()
            health = server.client.get(f"{server.url}health")  # by then the end has been seen
            assert health.json()["ok"]

        reason = server.shell("ls")["hookSpecificOutput"]["permissionDecisionReason"]

    assert reason == "two"


# -- settings


def denying(name, reason):
    says = command({"stdout": {"decision": "deny", "reason": reason}})
    return {"type": "command", "name": name, "command": says}


def gemini_settings(*handlers, matcher="*"):
    return {"hooks": {"BeforeTool": [{"matcher": matcher, "hooks": list(handlers)}]}}


def test_without_a_file_the_settings_of_the_project_decide(world):
    world.settings("project", gemini_settings(denying("a", "settings")))
    with serving("--agent", "gemini", "--trust-once") as server:
        assert server.shell("ls", "gemini") == {"decision": "deny", "reason": "settings"}
        world.settings("project", gemini_settings(denying("a", "edited settings")))
        assert server.shell("ls", "gemini") == {"decision": "deny", "reason": "edited settings"}


def test_hooks_of_an_untrusted_project_do_not_run_and_that_is_reported(world):
    world.settings("project", gemini_settings(denying("a", "settings")))
    with serving("--agent", "gemini") as server:
        assert server.shell("ls", "gemini") == {}
        assert "hook a (settings.json:" in (written := server.all_output())

    assert "was not run, because the project is not trusted" in written


def test_a_hook_that_several_agents_read_counts_once_and_its_trust_is_shown(tmp_path):
    claude = World(tmp_path, agent="claude")
    hook = {"type": "command", "command": "true"}
    claude.settings("project", {"hooks": {"PreToolUse": [{"hooks": [hook, hook]}]}})
    process = start("--project", claude.project, "--port", 0)
    lines = [process.stdout.readline() for _ in range(2)]
    process.terminate()
    _, err = process.communicate(timeout=30)

    assert "with 2 hooks." in lines[0]
    assert lines[1] == "Not trusted, and not run: 2 hooks; review with: anyhook trust\n"
    assert "other-agent" not in err


def test_an_event_without_a_name_is_an_error_that_names_the_members(hook_file):
    with serving(hook_file()) as server:
        reply = server.client.post(server.url, json={"session_id": "s"})

    assert reply.status_code == 422
    assert "recognized: event or hook or hook_event_name must name an event" in reply.text


def test_files_and_settings_decide_together(world, hook_file):
    world.settings("user", gemini_settings(denying("a", "settings")))
    with serving(hook_file(), "--project", world.project) as server:
        both = server.shell("echo AKIA", "gemini")
        health = server.client.get(f"{server.url}health").json()
    with serving(hook_file()) as server:
        alone = server.shell("ls", "gemini")

    assert both == {"decision": "deny", "reason": "no keys\nsettings"}
    assert health["hooks"] == 4
    assert alone.get("decision") != "deny", "settings count only where they are asked for"


def test_a_hook_that_leads_to_the_server_itself_is_left_out_and_reported(world, tmp_path):
    claude = World(tmp_path, agent="claude")
    other = json.dumps({"systemMessage": "still asked"})
    with serving("--agent", "claude", "--trust-once") as server:
        hooks = [
            {"type": "http", "url": server.url},
            {"type": "http", "url": f"http://localhost:{server.port}/hook?key={SECRET}"},
            {"type": "command", "command": f"echo '{other}'"},
        ]
        claude.settings("user", {"hooks": {"PreToolUse": [{"hooks": hooks}]}})
        assert server.shell("ls") == {"systemMessage": "still asked"}
        assert server.shell("ls") == {"systemMessage": "still asked"}
        written = server.all_output()

    assert written.count("is left out: it leads to this server") == 2
    assert SECRET not in written


@contextmanager
def forwarder():
    """A port that leads to another one; yields its number, a way to set the other, and a count."""

    async def main():
        counted, target = [], []

        async def copy(reader, writer):
            while data := await reader.read(65536):
                writer.write(data)
            writer.close()

        async def forward(reader, writer):
            counted.append(1)
            there = await asyncio.open_connection("127.0.0.1", target[0])
            await asyncio.gather(copy(reader, there[1]), copy(there[0], writer))

        server = await asyncio.start_server(forward, "127.0.0.1", 0)
        ready.put((server.sockets[0].getsockname()[1], target, counted, asyncio.get_running_loop()))
        await stopped.wait()
        server.close()

    ready, stopped = queue.Queue(), asyncio.Event()
    thread = threading.Thread(target=asyncio.run, args=(main(),))
    thread.start()
    port, target, counted, loop = ready.get()
    try:
        yield port, target, counted
    finally:
        loop.call_soon_threadsafe(stopped.set)
        thread.join()


@pytest.mark.parametrize("background", [False, True])
def test_a_hook_that_leads_back_over_another_port_is_asked_once(world, background):
    with forwarder() as (port, target, counted):
        hook = {
            "type": "http",
            "url": f"http://127.0.0.1:{port}/",
            "headers": {"Authorization": f"Bearer {TOKEN}"},
            "timeout": 20,
        } | ({"async": True} if background else {})
        file = world.home / ".claude" / "settings.json"
        definitions = [{"matcher": "*", "hooks": [hook]}]
        world.write(file, json.dumps({"hooks": {"PreToolUse": definitions}}))
        arguments = ("-C", world.project, "--host", "0.0.0.0", "--agent", "claude")
        with serving(*arguments, env={"ANYHOOK_TOKEN": TOKEN}) as server:
            target.append(server.port)
            server.client.headers["authorization"] = f"Bearer {TOKEN}"

            server.shell("pwd")
            until(lambda: counted)
            server.end()

    assert len(counted) == 1


def test_commands_do_not_see_the_token(world):
    says = {"decision": "deny", "reason": "token=${ANYHOOK_TOKEN:-none}"}
    shell = "printf '%s' \"" + json.dumps(says).replace('"', '\\"') + '"'
    world.settings("user", gemini_settings({"type": "command", "command": shell}))
    with serving("--agent", "gemini", env={"ANYHOOK_TOKEN": TOKEN}) as server:
        server.client.headers["authorization"] = f"Bearer {TOKEN}"

        assert server.shell("ls", "gemini")["reason"] == "token=none"


# -- who may ask


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """A server with a token that all the refusals ask."""
    root = tmp_path_factory.mktemp("guarded")
    file = root / "guard.py"
    file.write_text(textwrap.dedent(GUARD), encoding="utf-8")
    with serving(file, env={"HOME": str(root), "ANYHOOK_TOKEN": TOKEN}) as server:
        yield server


EVENT = json.dumps(make_payload("before_tool", agent="claude", tool="shell", input={}))
GOOD = {"content-type": "application/json", "authorization": f"Bearer {TOKEN}"}


@pytest.mark.parametrize(
    ("change", "body", "status", "words"),
    [
        ({}, EVENT, 200, ""),
        ({"content-type": "Application/JSON; charset=utf-8"}, EVENT, 200, ""),
        ({"authorization": f"bearer  {TOKEN}"}, EVENT, 200, ""),
        ({"host": "localhost:PORT"}, EVENT, 200, ""),
        ({"host": "LOCALHOST.:PORT"}, EVENT, 200, ""),
        ({"host": "[::1]:PORT"}, EVENT, 200, ""),
        ({"host": "attacker.example:PORT"}, EVENT, 403, "Host header"),
        ({"host": "127.0.0.1.attacker.example:PORT"}, EVENT, 403, "Host header"),
        ({"host": "127.0.0.1:1"}, EVENT, 403, "Host header"),
        ({"host": "127.0.0.1"}, EVENT, 403, "Host header"),
        ({"host": "127.0.0.1:x"}, EVENT, 403, "Host header"),
        ({"host": ""}, EVENT, 403, "Host header"),
        ({"host": "evil@127.0.0.1:PORT"}, EVENT, 403, "Host header"),
        ({"host": "@127.0.0.1:PORT"}, EVENT, 403, "Host header"),
        ({"host": "127.0.0.1\t:PORT"}, EVENT, 403, "Host header"),
        ({"host": "127.0.0.1 :PORT"}, EVENT, 403, "Host header"),
        ({"host": "127.0.0.1:PORT/x"}, EVENT, 403, "Host header"),
        ({"host": "127.0.0.1:PORT?x"}, EVENT, 403, "Host header"),
        ({"host": "127.0.0.1:PORT#x"}, EVENT, 403, "Host header"),
        ({"host": "127.0.0.1:0PORT"}, EVENT, 403, "Host header"),
        ({"host": "127.0.0.1:PORT,evil"}, EVENT, 403, "Host header"),
        ({"host": "[127.0.0.1]:PORT"}, EVENT, 403, "Host header"),
        ({"host": "::1:PORT"}, EVENT, 403, "Host header"),
        ({"host": "127.0.0.1%00:PORT"}, EVENT, 403, "Host header"),
        ({"host": "127.1:PORT"}, EVENT, 403, "Host header"),
        ({"origin": "http://attacker.example"}, EVENT, 403, "Origin"),
        ({"origin": "null"}, EVENT, 403, "Origin"),
        ({"authorization": None}, EVENT, 401, "Authorization: Bearer TOKEN"),
        ({"authorization": f"Bearer {TOKEN}x"}, EVENT, 401, "Authorization: Bearer TOKEN"),
        ({"authorization": f"Basic {TOKEN}"}, EVENT, 401, "Authorization: Bearer TOKEN"),
        ({"authorization": TOKEN}, EVENT, 401, "Authorization: Bearer TOKEN"),
        ({"content-type": "text/plain"}, EVENT, 415, "application/json"),
        ({"content-type": None}, EVENT, 415, "application/json"),
        ({}, "", 400, "not JSON"),
        ({}, "{", 400, "not JSON"),
        ({}, "[" * 100_000, 400, "deep"),
        ({}, f"[{EVENT}]", 400, "not a JSON object"),
        ({}, "{}", 422, "hook_event_name must name an event"),
        ({}, '{"hook_event_name": ["x"]}', 422, "hook_event_name must name an event"),
    ],
)
def test_what_is_no_event_of_an_agent_is_refused_and_says_what_to_do(
    guarded, change, body, status, words
):
    headers = {**GOOD, **change}
    given = {k: v.replace("PORT", str(guarded.port)) for k, v in headers.items() if v is not None}
    answer = guarded.client.post(guarded.url, content=body, headers=given)

    assert answer.status_code == status, answer.text
    assert words in answer.json().get("error", "")
    assert TOKEN not in answer.text


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS", "HEAD"])
def test_only_a_post_is_an_event(guarded, method):
    answer = guarded.client.request(method, guarded.url, headers=GOOD)

    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST"
    assert "access-control-allow-origin" not in answer.headers
    assert method == "HEAD" or "post an event as JSON" in answer.json()["error"]


def test_health_without_the_token_shows_only_that_it_runs(guarded):
    bare = guarded.client.get(f"{guarded.url}health")
    whole = guarded.client.get(f"{guarded.url}health", headers=GOOD)
    rebound = guarded.client.get(f"{guarded.url}health", headers={"host": "attacker.example"})

    assert bare.json() == {"ok": True}
    assert whole.json().keys() == {"ok", "anyhook", "hooks"}
    assert whole.json()["hooks"] == 3
    assert rebound.status_code == 403


def head(port, length=None, **more):
    size = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
    return (
        f"POST / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {TOKEN}\r\n{size}\r\n\r\n"
    ).encode()


def test_an_event_that_is_too_large_is_refused_unread(guarded):
    with socket.create_connection(("127.0.0.1", guarded.port)) as connection:
        connection.sendall(head(guarded.port, MAX_PAYLOAD_SIZE + 1))
        assert connection.recv(12) == b"HTTP/1.1 413"


def test_an_event_that_does_not_end_is_refused_at_the_limit(guarded):
    chunk = b" " * (MAX_PAYLOAD_SIZE // 16)
    with socket.create_connection(("127.0.0.1", guarded.port)) as connection:
        connection.sendall(head(guarded.port))
        for _ in range(16):
            connection.sendall(b"%x\r\n%s\r\n" % (len(chunk), chunk))
        connection.sendall(b"1\r\n \r\n")
        assert connection.recv(12) == b"HTTP/1.1 413"


def test_who_goes_away_in_the_middle_of_an_event_is_forgotten(world, hook_file):
    with serving(hook_file()) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(head(server.port, 100) + b'{"hook')
        assert server.shell("pwd") == {}
        server.end()

    assert server.err == "noise\nanyhook serve: ended\n"


def test_connections_that_ask_nothing_do_not_keep_others_out(world, hook_file):
    few_descriptors = ["bash", "-c", 'ulimit -n 96; exec "$@"', "bash"]
    with serving(hook_file(), prefix=few_descriptors) as server:
        with ExitStack() as held:
            for number in range(200):
                connection = socket.create_connection(("127.0.0.1", server.port))
                held.enter_context(connection)
                with suppress(OSError):  # it may have been closed for the next ones
                    connection.sendall(head(server.port, 100)[: 40 * (number % 2)])

            assert server.shell("echo AKIA")["hookSpecificOutput"]["permissionDecision"] == "deny"
        assert server.shell("echo AKIA")["hookSpecificOutput"]["permissionDecision"] == "deny"
        server.end()

    assert "Traceback" not in server.err


FLOOD = """
    import socket, sys
    address = ("127.0.0.1", int(sys.argv[1]))
    held = [socket.create_connection(address) for _ in range(200)]
    print(len(held), flush=True)
    sys.stdin.read()
"""


def test_many_clients_that_connect_at_once_take_no_descriptor_of_the_server(world, hook_file):
    few_descriptors = ["bash", "-c", 'ulimit -n 96; exec "$@"', "bash"]
    with serving(hook_file(), prefix=few_descriptors) as server:
        line = [sys.executable, "-c", textwrap.dedent(FLOOD), str(server.port)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        clients = [subprocess.Popen(line, **pipes) for _ in range(6)]
        assert [client.stdout.readline() for client in clients] == ["200\n"] * 6

        assert server.shell("echo AKIA")["hookSpecificOutput"]["permissionDecision"] == "deny"
        for client in clients:
            client.communicate()
        server.end()

    assert "Traceback" not in server.err


IMPATIENT = """
    import sys
    from pathlib import Path
    from anyhook.server.address import listen
    from anyhook.server import http
    from anyhook.server.responder import Responder

    http.REQUEST_SECONDS = 0.2
    listening, address = listen("127.0.0.1", 0, is_guarded=False)
    app = http.make_app(Responder([Path(sys.argv[1])]))
    http.run(app, listening, lambda: print(address.port, flush=True))
"""


@pytest.fixture
def impatient(world, hook_file, tmp_path):
    """The port of a server that waits for a request for a fraction of a second."""
    slow = (
        GUARD
        + """
    @hooks.session_start
    def wait(event):
        import os, time
        open("begun", "w").close()
        while not os.path.exists("go"):
            time.sleep(0.01)
        return context("late")
    """
    )
    program = hook_file(IMPATIENT, "serve.py")
    process = subprocess.Popen(
        [sys.executable, str(program), str(hook_file(slow))], stdout=subprocess.PIPE, text=True
    )
    yield int(process.stdout.readline())
    process.terminate()
    process.communicate(timeout=30)


@pytest.mark.parametrize("size", [0, 1, 40, -1, None])
def test_a_request_that_is_not_finished_in_time_is_dropped(impatient, size):
    text = head(impatient, 100)
    if size is None:
        text += b'{"hook'
    with socket.create_connection(("127.0.0.1", impatient)) as connection:
        connection.sendall(text[:size])
        assert connection.recv(1) == b""


def test_a_request_that_comes_in_drops_does_not_get_more_time(impatient):
    with socket.create_connection(("127.0.0.1", impatient)) as connection:
        connection.sendall(head(impatient, MAX_PAYLOAD_SIZE))
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            send_for_ever(connection)


def send_for_ever(connection):
    while True:
        connection.sendall(b" ")


def test_a_hook_may_take_longer_than_a_request(impatient, world):
    event = json.dumps(make_payload("session_start", agent="claude", source="startup")).encode()
    with socket.create_connection(("127.0.0.1", impatient)) as connection:
        connection.sendall(head(impatient, len(event)) + event)
        until((world.project / "begun").exists)
        with socket.create_connection(("127.0.0.1", impatient)) as other:
            assert other.recv(1) == b""  # its time is over, which began later
        (world.project / "go").touch()
        assert connection.recv(12) == b"HTTP/1.1 200"


def test_a_large_event_is_read(guarded):
    payload = make_payload(
        "before_tool", agent="claude", tool="shell", input={"command": "AKIA" + "x" * 15_000_000}
    )

    assert "no keys" in guarded.post(payload, **GOOD).text


def test_the_token_is_never_written(world, hook_file):
    with serving(hook_file(), env={"ANYHOOK_TOKEN": TOKEN}) as server:
        assert server.post({}).status_code == 401
        assert server.post({}, authorization="Bearer wrong").status_code == 401
        assert server.post({}, authorization=f"Bearer {TOKEN}").status_code == 422

        assert TOKEN not in server.all_output()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_others_than_this_machine_are_let_in_with_a_token_only(world, hook_file, host):
    message = refused(hook_file(), "--host", host, "--port", 0)

    assert "set ANYHOOK_TOKEN" in message


@pytest.mark.parametrize(
    "token", ["", "short", "fifteen-letters", "with a space in it", 20 * "\u00fc"]
)
def test_a_token_that_is_none_is_refused_and_not_repeated(world, hook_file, token):
    message = refused(hook_file(), env={"ANYHOOK_TOKEN": token})

    assert "it needs 16" in message or "ASCII without spaces" in message
    assert not token or token not in message


def test_with_a_token_it_listens_everywhere_under_any_name(world, hook_file):
    env = {"ANYHOOK_TOKEN": TOKEN}
    with serving(hook_file(), "--host", "0.0.0.0", env=env) as server:
        named = server.post(
            make_payload("before_tool", agent="claude", tool="shell", input={"command": "AKIA"}),
            host=f"build-box:{server.port}",
            authorization=f"Bearer {TOKEN}",
        )

    assert server.url == f"http://127.0.0.1:{server.port}/"
    assert "no keys" in named.text


# -- how it starts and ends


def shown_settings(shown):
    """Return the settings of Claude Code among those that the command shows."""
    start = shown.index("{", shown.index("In the settings of Claude Code"))
    return json.JSONDecoder().raw_decode(shown[start:])[0]


def test_what_it_shows_can_be_pasted_into_settings(world, hook_file, tmp_path):
    claude = World(tmp_path / "claude", agent="claude")
    env = {"ANYHOOK_TOKEN": TOKEN}
    process = start(hook_file(), "--port", 0, env={**os.environ, **env})
    shown = ""
    while "Ctrl-C" not in shown:
        line = process.stdout.readline()
        assert line, process.communicate()
        shown += line
    settings = shown_settings(shown)
    claude.settings("user", settings)
    claude.environ |= env

    async def decide():
        async with claude.load() as engine:
            return await engine.dispatch(
                BeforeTool(tool_name="Bash", tool_input={"command": "AKIA"})
            )

    decision = asyncio.run(decide())
    process.terminate()
    _, err = process.communicate(timeout=30)

    assert settings["hooks"].keys() == {"PreToolUse", "Stop", "UserPromptSubmit"}
    assert decision.reason == "no keys"
    assert "with 3 hooks" in shown
    assert TOKEN not in shown + err


def test_a_file_that_must_not_fail_is_asked_so_that_no_answer_denies(world, hook_file):
    closed = hook_file(CRASHES.replace("OPTIONS", "on_crash='deny'"), "closed.py")
    process = start(closed, hook_file(), "--port", 0)
    shown = "".join(iter(process.stdout.readline, "Ctrl-C ends it.\n"))
    process.terminate()
    process.communicate(timeout=30)
    hooks = shown_settings(shown)["hooks"]

    failing = {event: entry[0]["hooks"][0].get("onFailure") for event, entry in hooks.items()}
    assert failing == {
        "PreToolUse": "block",
        "PostToolUse": "block",
        "UserPromptSubmit": "block",
        "Stop": None,
    }


def test_it_says_which_events_no_service_is_asked_on(world, hook_file):
    file = hook_file("""
        from anyhook.authoring import Hooks, context

        hooks = Hooks()

        @hooks.session_start
        def start(event):
            return context("hello")
    """)
    process = start(file, "--port", 0)
    lines = iter(process.stdout.readline, "")
    line = next(line for line in lines if "runs no http hooks" in line)
    process.terminate()
    process.communicate(timeout=30)

    assert "on SessionStart" in line
    assert "anyhook add" in line


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_user_who_ends_it_sees_that_it_has_ended(world, hook_file, how):
    file = hook_file("""
        import subprocess
        from anyhook.authoring import Hooks

        hooks = Hooks()
        print("noise")

        @hooks.before_tool
        def talk(event):
            print("noise")
            subprocess.run(["echo", "noise"])
    """)
    with serving(file) as server:
        assert server.shell("pwd") == {}
        code = server.end(how)

    assert code == 0
    assert server.err.split("\n") == ["noise"] * 3 + ["anyhook serve: ended", ""]
    assert server.out.count("\n") == 1, "standard output holds the line that it is ready, only"
    assert json.loads(server.out)["pid"] == server.process.pid


def test_a_port_that_is_taken_is_reported(world, hook_file):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        message = refused(hook_file(), "--port", taken.getsockname()[1])

    assert "in use" in message
    assert "--port 0" in message


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere.py"], "does not exist"),
        (["--project", "nowhere"], "there is no directory"),
        (["--agent", "claud"], "did you mean 'claude'"),
        (["--host", ""], "--host is empty"),
        (["--host", "no.such.host.invalid"], "no such address"),
        (["--port", "70000"], "--port"),
    ],
)
def test_usage_errors_say_what_to_do(world, arguments, words):
    assert words in refused(*arguments)


@pytest.mark.parametrize("missing", ["starlette", "uvicorn"])
def test_without_its_libraries_it_says_how_to_get_them(world, missing):
    program = (
        f"import sys; sys.modules[{missing!r}] = None; from anyhook._entry_point import main; "
    )
    done = subprocess.run(
        [sys.executable, "-c", program + "sys.argv[1:] = ['serve']; sys.exit(main())"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 64
    assert "install" in done.stderr
    assert "starlette>=" in done.stderr


# -- addresses


@pytest.mark.parametrize(
    ("address", "url", "leads_here"),
    [
        ("127.0.0.1", "http://127.0.0.1:8787/x", True),
        ("127.0.0.1", "http://localhost:8787", True),
        ("127.0.0.1", "http://LOCALHOST.:8787/", True),
        ("127.0.0.1", "http://127\u30020\u30020\u30021:8787/", True),
        ("127.0.0.1", "http://127\uff0e0\uff610.1.:8787/", True),
        ("127.0.0.1", "http://localhost\u3002:8787/", True),
        ("127.0.0.1", "http://127.1:8787/", True),
        ("127.0.0.1", "http://0x7f.1:8787/", True),
        ("127.0.0.1", "http://2130706433:8787/", True),
        ("127.0.0.1", "http://017700000001:8787/", True),
        ("127.0.0.1", "http://[::ffff:127.0.0.1]:8787/", True),
        ("127.0.0.1", "http://[::ffff:7f00:1]:8787/", True),
        ("0.0.0.0", "http://127.1:8787/", True),
        ("0.0.0.0", f"http://{OWN_ADDRESS}:8787/", True),
        ("::", f"http://{OWN_ADDRESS}:8787/", True),
        ("0.0.0.0", "http://203.0.113.9:8787/", False),
        ("127.0.0.1", "http://127.2:8787/", False),
        ("127.0.0.1", "http://user:pass@127.0.0.1:8787/", True),
        ("127.0.0.1", "http://127.0.0.1:8788/", False),
        ("127.0.0.1", "http://127.0.0.1/", False),
        ("127.0.0.1", "http://127.0.0.2:8787/", False),
        ("127.0.0.1", "http://[::1]:8787/", False),
        ("127.0.0.1", "http://example.com:8787/", False),
        ("127.0.0.1", "http://127.0.0.1:x/", False),
        ("::1", "http://[::1]:8787/", True),
        ("::1", "http://localhost:8787/", True),
        ("0.0.0.0", "http://127.0.0.1:8787/", True),
        ("0.0.0.0", "http://localhost:8787/", True),
        ("0.0.0.0", f"http://{socket.gethostname()}:8787/", True),
        ("0.0.0.0", "http://example.com:8787/", False),
        ("192.0.2.7", "http://192.0.2.7:8787/", True),
        ("192.0.2.7", "http://localhost:8787/", False),
    ],
)
def test_an_address_knows_the_urls_that_lead_to_it(address, url, leads_here):
    assert Address(address, address, 8787).is_at(url) is leads_here


@pytest.mark.parametrize(
    ("address", "url", "hosts"),
    [
        ("127.0.0.1", "http://127.0.0.1:1/", {"127.0.0.1"}),
        ("::1", "http://[::1]:1/", {"::1"}),
        ("0.0.0.0", "http://127.0.0.1:1/", None),
        ("::", "http://[::1]:1/", None),
        ("192.0.2.7", "http://192.0.2.7:1/", {"192.0.2.7"}),
    ],
)
def test_an_address_has_a_url_and_hosts(address, url, hosts):
    found = Address(address, address, 1)

    assert (found.url, found.hosts) == (url, hosts)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.1", "[::1]"])
def test_loopback_needs_no_token_however_it_is_written(host):
    if host == "[::1]" and not socket.has_ipv6:
        pytest.skip("no IPv6")
    listening, address = listen(host, 0, is_guarded=False)
    with listening:
        assert is_loopback(address.address)
        assert address.port == listening.getsockname()[1]


def test_an_address_of_another_machine_cannot_be_listened_at():
    with pytest.raises(UsageError, match="name an address of this machine"):
        listen("192.0.2.1", 0, is_guarded=True)


# -- in another program


def asked(app, payload, **headers):
    async def ask():
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.post("/", json=payload, headers=headers)

    return asyncio.run(ask())


def test_a_length_beyond_all_numbers_is_too_large(world, hook_file):
    answer = asked(make_app(Responder([hook_file()])), {}, **{"content-length": "9" * 5000})

    assert answer.status_code == 413


def test_the_application_can_stand_in_another_program(world, hook_file):
    responder = Responder([hook_file()])
    app = make_app(responder, hosts={"hooks.example"})
    payload = make_payload("before_tool", agent="claude", tool="shell", input={"command": "AKIA"})

    assert "no keys" in asked(app, payload).text
    assert "no keys" in asked(app, payload, host="hooks.example").text
    assert asked(app, payload, host="other.example").status_code == 403
    responder.close()
    assert asked(app, payload).status_code == 503


def test_a_bug_is_reported_without_the_event(world, hook_file):
    class Broken(Responder):
        async def reply(self, payload):
            raise KeyError(SECRET)

    answer = asked(make_app(Broken([hook_file()])), {"a": SECRET})

    assert answer.status_code == 500
    assert answer.json() == {"error": "this is a bug of anyhook: KeyError"}


def test_the_same_file_given_twice_runs_once(world, hook_file):
    file = hook_file()

    assert Responder([file, file.parent / "." / file.name]).hooks == 3


def test_a_wrong_field_of_an_event_is_reported_without_its_value(world, hook_file):
    lines = []
    responder = Responder([hook_file()], on_message=lines.append)
    payload = make_payload("before_tool", agent="claude", tool="shell", input={})

    asked(make_app(responder), {**payload, "tool_input": SECRET})

    assert lines == ["PreToolUse: before_tool: tool_input must be an object, not a string"]

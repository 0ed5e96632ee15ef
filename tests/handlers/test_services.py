"""Hooks that ask others: services on the Web, a model, tools of MCP servers. With real servers."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import math
import os
import socket
import ssl
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import anyio
import pytest
import trustme

from anyhook import AfterAgent, AfterTool, BeforeTool, Engine, SessionStart, SyncEngine, UsageError
from anyhook.handlers.mcp_client import SdkClient
from anyhook.handlers.network import find_host_problem, is_allowed_url, is_public
from anyhook.handlers.services import Services, ToolText
from anyhook.model.answers import NO_OPINION, Outcome
from anyhook.model.decisions import NO_DECISION, Status
from anyhook.model.diagnostics import CODES
from anyhook.model.session_events import WorktreeCreate
from anyhook.model.tool_events import PermissionRequest
from anyhook.model.turn_events import TeammateIdle
from tests.waiting import until

LS = BeforeTool(tool_name="Bash", tool_input={"command": "ls", "lines": [1, {"deep": "down"}]})
STOP = AfterAgent(prompt="", prompt_response="done")
DENY = {
    "hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": "the service says no",
    }
}
pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", pytest.param("trio", marks=pytest.mark.slow)])
def anyio_backend(request):
    """Both event loops; the second one with the slower tests."""
    return request.param


class World:
    """A project and a home of one agent."""

    def __init__(self, root):
        self.project, self.home = root / "project", root / "home"
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "ANYHOOK_MANAGED_SETTINGS": str(root / "managed.json"),
        }

    def settings(self, *handlers, event="PreToolUse", home=False, **more):
        base = self.home if home else self.project
        file = base / ".claude" / "settings.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        hooks = {event: [{"hooks": list(handlers)}]} if handlers else {}
        file.write_text(json.dumps({"hooks": hooks, **more}))

    def load(self, **options):
        options = {"home": self.home, "environ": self.environ, "trust_once": True, **options}
        engine = Engine.load(self.project, agent="claude", **options)
        assert engine.diagnostics == ()
        return engine

    async def decide(self, event=LS, **options):
        async with self.load(**options) as engine:
            return await engine.dispatch(event)


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def codes(decision):
    return [diagnostic.code for diagnostic in decision.diagnostics]


def only(decision):
    (result,) = decision.results
    return result


# -- services on the Web


class Site:
    """A server on the loopback interface that answers as it is told, and remembers what it got."""

    def __init__(self, address="127.0.0.1"):
        self.status, self.body, self.headers = 200, b"", {}
        self.requests, self.over = [], threading.Event()
        self.delay = self.endless = False
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                site.requests.append((self.path, self.headers, body))
                if site.delay:
                    site.over.wait()
                self.send_response(site.status)
                for name, value in site.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(site.body)
                while site.endless and not site.over.wait(0.01):
                    self.wfile.write(site.body or b" ")

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass

        self.server = Server((address, 0), Handler)
        self.port = self.server.server_port
        self.url = f"http://127.0.0.1:{self.port}/hook"

    def says(self, value, status=200):
        self.body = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.status = status

    @contextmanager
    def running(self):
        thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield self
        finally:
            self.over.set()
            self.server.shutdown()
            thread.join()
            self.server.server_close()


@pytest.fixture
def site():
    with Site().running() as running:
        yield running


def http(url, **more):
    return {"type": "http", "url": url, **more}


async def test_a_service_gets_the_event_and_its_reply_decides(world, site):
    world.settings(http(site.url))
    site.says(DENY)

    decision = await world.decide()

    assert decision.denied
    assert decision.reason == "the service says no"
    ((path, headers, body),) = site.requests
    assert path == "/hook"
    assert headers["Content-Type"] == "application/json"
    assert headers["Host"] == f"127.0.0.1:{site.port}"
    sent = json.loads(body)
    assert (sent["hook_event_name"], sent["tool_input"]) == ("PreToolUse", LS.tool_input)


async def test_an_empty_answer_is_no_opinion(world, site):
    world.settings(http(site.url, onFailure="block"))
    site.says(b" \n", 204)

    decision = await world.decide()

    assert only(decision).status is Status.RAN
    assert (decision.outcome, codes(decision)) == (Outcome.NONE, [])


@pytest.mark.parametrize("body", [b"all is well", b"[]", b'"deny"', b'{"decision": ', b"\xff\xfe"])
async def test_an_answer_that_is_no_object_is_neither_context_nor_a_verdict(world, site, body):
    world.settings(http(site.url), event="UserPromptSubmit")
    site.says(body)

    decision = await world.decide(world.load().decode(PROMPT)[0])

    assert only(decision).status is Status.WARNED
    assert only(decision).failed
    assert (decision.context, decision.outcome) == ((), Outcome.NONE)
    assert codes(decision) == ["handler-failed"]


PROMPT = {"hook_event_name": "UserPromptSubmit", "prompt": "hi", "session_id": "s", "cwd": "/"}
PROMPT |= {"transcript_path": "/t"}


@pytest.mark.parametrize("status", [199 + 102, 400, 403, 500, 503])
async def test_a_status_code_never_denies(world, site, status):
    world.settings(http(site.url))
    site.says(DENY, status)

    decision = await world.decide()

    assert not decision.denied
    assert only(decision).status is Status.WARNED
    assert f"answered with status {status}" in decision.diagnostics[0].message
    assert codes(decision) == ["handler-failed"]


async def test_a_redirect_is_not_followed(world, site):
    world.settings(http(site.url))
    site.says(DENY, 307)
    site.headers["Location"] = f"http://127.0.0.1:{site.port}/elsewhere"

    decision = await world.decide()

    assert [path for path, *_ in site.requests] == ["/hook"]
    assert "redirects are not followed" in decision.diagnostics[0].message


async def test_on_failure_block_turns_every_failure_into_a_denial(world, site):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: nobody else gets the port
        nobody = f"http://127.0.0.1:{taken.getsockname()[1]}/"
        for url, status, body in (
            (nobody, 200, b""),
            (site.url, 500, b""),
            (site.url, 200, b"text"),
            ("http://10.0.0.1/", 200, b""),
        ):
            world.settings(http(url, onFailure="block"))
            site.says(body, status)

            decision = await world.decide()

            assert decision.denied
            assert 'failed; blocking because onFailure is "block"' in decision.reason


async def test_a_service_that_is_not_there_has_no_opinion(world):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        world.settings(http(f"http://localhost:{taken.getsockname()[1]}/"))

        decision = await world.decide()

    assert (only(decision).status, codes(decision)) == (Status.FAILED, ["handler-failed"])
    assert "cannot be reached" in only(decision).error
    assert not decision.denied


async def test_a_host_without_an_address_has_no_opinion(world):
    world.settings(http("http://nobody.invalid/"))

    decision = await world.decide()

    assert only(decision).status is Status.FAILED
    assert "there is no host 'nobody.invalid'" in only(decision).error


@pytest.mark.slow
@pytest.mark.parametrize("how", ["delay", "endless"])
async def test_a_service_has_until_the_timeout_for_all_of_its_answer(world, site, how):
    world.settings(http(site.url, timeout=2))  # on a busy machine, the request takes a while
    setattr(site, how, True)

    decision = await world.decide()

    assert (only(decision).status, codes(decision)) == (Status.TIMED_OUT, ["handler-timeout"])
    assert not decision.denied
    assert site.requests


async def test_a_dispatch_that_is_cancelled_does_not_wait_for_a_service(world, site):
    world.settings(http(site.url))
    site.delay = True

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(world.decide)
        await anyio.to_thread.run_sync(until, lambda: site.requests)
        tasks.cancel_scope.cancel()

    assert tasks.cancel_scope.cancelled_caught


async def test_an_answer_is_read_to_the_limit_and_no_further(world, site):
    world.settings(http(site.url))
    site.body, site.endless = b"x" * 100_000, True

    decision = await world.decide(output_limit=5000)

    assert len(only(decision).stdout) == 5000
    assert only(decision).truncated
    assert codes(decision) == ["output-truncated", "handler-failed"]


async def test_a_compressed_answer_is_not_unpacked(world, site):
    world.settings(http(site.url))
    site.says(b"\x1f\x8b" + b"\0" * 20)
    site.headers["Content-Encoding"] = "gzip"

    decision = await world.decide()

    assert site.requests[0][1]["Accept-Encoding"] == "identity"
    assert only(decision).status is Status.WARNED


async def test_headers_hold_the_variables_that_are_allowed_and_no_others(world, site):
    world.environ |= {"TOKEN": "t0ken", "OTHER": "other", "AWS_SECRET": "secret"}
    world.settings(
        http(
            site.url,
            headers={"X-A": "Bearer $TOKEN", "X-B": "<${OTHER}|$AWS_SECRET|$UNSET|$5>"},
            allowedEnvVars=["TOKEN", "OTHER", "UNSET"],
        )
    )

    await world.decide()

    ((_, headers, _),) = site.requests
    assert (headers["X-A"], headers["X-B"]) == ("Bearer t0ken", "<other|||$5>")


async def test_the_settings_bound_which_variables_any_header_may_hold(world, site):
    world.environ |= {"TOKEN": "t0ken", "OTHER": "other"}
    world.settings(home=True, httpHookAllowedEnvVars=["OTHER", "MORE"])
    hook = http(site.url, headers={"X-A": "$TOKEN|$OTHER"}, allowedEnvVars=["TOKEN", "OTHER"])
    world.settings(hook)
    site.says(b"", 401)

    decision = await world.decide()

    assert site.requests[0][1]["X-A"] == "|other"
    assert "$TOKEN in its headers is empty" in decision.diagnostics[0].message


async def test_a_variable_cannot_bring_a_header_of_its_own(world, site):
    world.environ["EVIL"] = " a\r\nX-Evil: 1\r\n\r\nGET / HTTP/1.1\0\n"
    world.settings(http(site.url, headers={"X-A": "$EVIL"}, allowedEnvVars=["EVIL"]))

    await world.decide()

    ((_, headers, body),) = site.requests
    assert headers["X-A"] == "aX-Evil: 1GET / HTTP/1.1"
    assert headers["X-Evil"] is None
    assert json.loads(body)


async def test_a_hook_cannot_change_what_makes_the_request(world, site):
    own = {"Host": "evil", "content-length": "1", "Transfer-Encoding": "chunked", "Expect": "x"}
    world.settings(http(site.url, headers={**own, "Content-Type": "text/plain", "X-A": "kept"}))

    await world.decide()

    ((_, headers, body),) = site.requests
    assert headers["Host"] == f"127.0.0.1:{site.port}"
    assert headers["Content-Type"] == "application/json"
    assert headers["Transfer-Encoding"] is headers["Expect"] is None
    assert headers["X-A"] == "kept"
    assert json.loads(body)


async def test_no_message_holds_a_secret(world, site, caplog):
    caplog.set_level(logging.DEBUG)
    world.environ["TOKEN"] = "hunter2"
    url = f"http://me:hunter2@localhost:{site.port}/hook?key=hunter2#hunter2"
    refused = f"http://me:hunter2@10.0.0.1/hook?key=hunter2&port={site.port}"
    pair = base64.b64encode(b"me:hunter2").decode()
    texts = ""
    for place, headers, status, limit in (
        (url, {}, 500, 1),
        (url, {"Authorization": "Bearer $TOKEN"}, 200, 1),
        (url, {"X ": "$TOKEN", "X:\n": "$TOKEN"}, 200, 1),
        (refused, {"X": "$TOKEN"}, 200, 1),
        ("http://me:hunter2@ho st/", {}, 200, 1),
        ("ftp://me:hunter2@host/", {}, 200, 1),
    ):
        hook = http(place, headers=headers, allowedEnvVars=["TOKEN"], timeout=limit)
        world.settings(hook)
        site.says(b"no", status)

        decision = await world.decide()

        texts += f"{only(decision).error}\n" + "\n".join(map(str, decision.diagnostics)) + "\n"
        assert only(decision).failed
    assert {code for code in CODES if f"[{code}]" in texts} == {
        "handler-failed",
        "url-refused",
    }
    assert "hunter2" not in texts + caplog.text
    sent = [headers["Authorization"] for _, headers, _ in site.requests]
    assert sent[:2] == [f"Basic {pair}", "Bearer hunter2"]


async def test_a_worktree_is_not_made_if_its_service_fails(world, site):
    world.settings(http(site.url), event="WorktreeCreate")
    site.says(b"", 500)

    decision = await world.decide(WorktreeCreate(worktree_name="w"))

    assert decision.denied
    assert "answered with status 500" in decision.reason


async def test_a_service_is_not_asked_at_the_start_of_a_session(world, site):
    world.settings(http(site.url), event="SessionStart")

    engine = Engine.load(
        world.project, agent="claude", home=world.home, environ=world.environ, trust_once=True
    )

    assert await engine.dispatch(SessionStart(source="startup")) is NO_DECISION
    assert site.requests == []


@pytest.mark.parametrize("patterns", [[], ["https://127.0.0.1*"], ["http://127.0.0.1:1/*"]])
async def test_a_url_that_no_pattern_meets_is_not_asked(world, site, patterns):
    world.settings(http(site.url), allowedHttpHookUrls=patterns)

    decision = await world.decide()

    assert site.requests == []
    assert (only(decision).status, codes(decision)) == (Status.FAILED, ["url-refused"])
    assert "allowedHttpHookUrls" in decision.diagnostics[0].message


async def test_a_url_that_a_pattern_meets_is_asked(world, site):
    world.settings(http(site.url), allowedHttpHookUrls=["https://x/*", "http://127.0.0.1:*/hook"])

    decision = await world.decide()

    assert len(site.requests) == 1
    assert codes(decision) == []


@pytest.mark.parametrize(
    ("pattern", "url"),
    [
        ("https://hooks.example.com/*", "https://hooks.example.com/a/b?c=d"),
        ("https://hooks.example.com", "https://hooks.example.com/"),
        ("https://Hooks.Example.com./*", "https://hooks.example.com/a"),
        ("https://hooks.example.com/*", "https://HOOKS.example.com.:443/a"),
        ("https://*.example.com/*", "https://a.b.example.com/x"),
        ("https://*", "https://anything/at/all"),
        ("http://localhost:*", "http://localhost:8080/x"),
        ("http://localhost:*/*", "http://localhost/x"),
        ("https://x:443/*", "https://x/y"),
        ("http://localhost:*/hook", "http://localhost:8080/hook"),
        ("*://localhost/*", "http://localhost/x"),
        ("*", "http://localhost:1/x"),
        ("localhost/*", "https://localhost/x"),
        ("http://[::1]:*/*", "http://[::1]:80/x"),
        ("https://x/*/a*b/c", "https://x/1/2/axxb/c"),
    ],
)
async def test_patterns_meet_urls(pattern, url):
    assert is_allowed_url(url, [pattern])
    assert is_allowed_url(url, ["http://nothing/", pattern])


@pytest.mark.parametrize(
    ("pattern", "url"),
    [
        ("https://hooks.example.com/*", "http://hooks.example.com/a"),
        ("https://hooks.example.com/*", "https://hooks.example.com.evil.com/a"),
        ("https://hooks.example.com/*", "https://evil.com/https://hooks.example.com/a"),
        ("https://*.example.com/*", "https://evil.com/x.example.com/y"),
        ("https://*.example.com/*", "https://evil.com?x.example.com/y"),
        ("https://*.example.com/*", "https://example.com/y"),
        ("https://hooks.example.com/a", "https://hooks.example.com/A"),
        ("https://hooks.example.com/a", "https://hooks.example.com/a?b"),
        ("https://hooks.example.com", "https://hooks.example.com/a"),
        ("http://localhost:8080/*", "http://localhost:80801/x"),
        ("http://localhost/*", "http://localhost:8080/x"),
        ("https://x:80/*", "https://x/y"),
        ("https://x/aa*aa", "https://x/aaa"),
        ("", "https://x/"),
        ("https://x/.*", "https://x/abc"),
    ],
)
async def test_patterns_do_not_meet_other_urls(pattern, url):
    assert not is_allowed_url(url, [pattern])


async def test_a_path_that_climbs_is_seen_as_what_it_is(world, site):
    for path in ("hooks/../admin", "hooks/%2e%2E/admin"):
        world.settings(
            http(f"http://127.0.0.1:{site.port}/{path}"),
            allowedHttpHookUrls=["http://127.0.0.1:*/hooks/*"],
        )

        assert codes(await world.decide()) == ["url-refused"]

    assert site.requests == []


async def test_a_user_before_the_host_does_not_look_like_one(world, site):
    world.settings(
        http(f"http://good.example:x@127.0.0.1:{site.port}/"),
        allowedHttpHookUrls=["http://good.example*"],
    )

    assert codes(await world.decide()) == ["url-refused"]
    assert site.requests == []


@pytest.mark.parametrize(
    "host",
    [
        "10.0.0.1",
        "169.254.169.254",
        "100.100.100.200",
        "168.63.129.16",
        "0.0.0.0",
        "[::]",
        "[::ffff:10.0.0.1]",
        "[::ffff:127.0.0.1]",
        "[64:ff9b::a9fe:a9fe]",
        "[2002:7f00:1::]",
        "[fd00:ec2::254]",
        "[fe80::1]",
        "224.0.0.1",
        "255.255.255.255",
        "2130706433",
        "0x7f000001",
        "127.1",
        "0177.0.0.1",
        "127.0.0.1.",
    ],
)
async def test_an_address_inside_is_not_asked(world, site, host):
    hook = http(f"http://{host}:{site.port}/")
    world.settings(hook)

    decision = await world.decide()

    assert site.requests == []
    assert only(decision).status is Status.FAILED
    assert set(codes(decision)) <= {"url-refused", "handler-failed"}
    if host not in ("127.0.0.1.", "0177.0.0.1"):  # no addresses, and some resolvers say so
        assert codes(decision) == ["url-refused"]
        assert "not a public address" in decision.diagnostics[0].message


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "localhost.", "127.0.0.1", "127.1.2.3"])
async def test_the_users_own_machine_is_asked_if_it_is_written_as_such(world, host):
    other = host == "127.1.2.3" and sys.platform == "linux"  # elsewhere, loopback has one address
    with Site(host if other else "127.0.0.1").running() as site:
        world.settings(
            http(f"http://{host if other or not host[0].isdigit() else '127.0.0.1'}:{site.port}/")
        )
        site.says(DENY)

        decision = await world.decide()

    assert codes(decision) == []
    assert decision.denied


async def test_a_private_host_is_asked_if_the_program_or_the_user_names_it(world, site):
    world.settings(http(f"http://127.1:{site.port}/"))

    assert codes(await world.decide(private_hosts=["127.1."])) == []
    world.settings(home=True, allowedHttpHookUrls=["http://127.1:*/*"])
    assert codes(await world.decide()) == []
    world.settings(http(f"http://127.1:{site.port}/"), allowedHttpHookUrls=["*"])
    world.settings(home=True)
    assert codes(await world.decide()) == ["url-refused"]
    assert len(site.requests) == 2


async def test_only_addresses_that_everybody_reaches_are_public():
    public = (
        "8.8.8.8 1.1.1.1 172.32.0.1 100.128.0.1 2606:4700::1111 ::ffff:8.8.8.8 64:ff9b::808:808"
    )
    private = (
        "10.1.2.3 172.16.0.1 172.31.255.255 192.168.1.1 127.0.0.1 169.254.169.254 100.64.0.1 "
        "100.127.255.255 0.0.0.0 0.1.2.3 192.0.0.192 192.0.2.1 192.88.99.1 198.18.0.1 "
        "198.51.100.1 203.0.113.1 224.0.0.1 239.1.1.1 240.0.0.1 255.255.255.255 168.63.129.16 "
        ":: ::1 ::10.0.0.1 ::ffff:10.0.0.1 ::ffff:0:127.0.0.1 ::ffff:169.254.169.254 "
        "64:ff9b::10.0.0.1 64:ff9b::169.254.169.254 64:ff9b:1::1 100::1 2001::1 2001:db8::1 "
        "2002:a00:1:: 2002:808:808:: 3fff::1 5f00::1 fc00::1 fd12::1 fe80::1 fe80::1%eth0 fec0::1 "
        "ff02::1 nonsense 1.2.3"
    )

    assert [a for a in public.split() if not is_public(a)] == []
    assert [a for a in private.split() if is_public(a)] == []


async def test_a_name_is_judged_by_all_that_it_leads_to():
    assert find_host_problem("example.com", ["8.8.8.8", "2606:4700::1111"], ()) is None
    assert "127.0.0.1" in find_host_problem("rebound.example", ["127.0.0.1"], ())
    assert "10.0.0.1" in find_host_problem("example.com", ["8.8.8.8", "10.0.0.1"], ())
    assert find_host_problem("localhost", ["127.0.0.1", "::1"], ()) is None
    assert "10.0.0.1" in find_host_problem("localhost", ["127.0.0.1", "10.0.0.1"], ())
    assert "127.0.0.1" in find_host_problem("localhost.evil.com", ["127.0.0.1"], ())
    assert find_host_problem("Nas.Local.", ["192.168.1.2"], {"nas.local"}) is None
    assert "192.168.1.2" in find_host_problem("nas.local", ["192.168.1.2"], {"other.local"})


async def test_a_host_is_looked_up_once_and_asked_where_it_was_found(world, site, monkeypatch):
    world.settings(http(f"http://Rebound.example:{site.port}/"))
    asked, real = [], socket.getaddrinfo

    def lookup(host, *rest, **more):  # a name whose owner gives every question another answer
        if host in ("127.0.0.1", b"127.0.0.1"):
            return real(host, *rest, **more)
        asked.append(host)
        return real("127.0.0.1" if len(asked) == 1 else "10.255.255.255", *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    decision = await world.decide(private_hosts=["rebound.example"])

    assert codes(decision) == []
    assert asked == [b"rebound.example"]
    assert site.requests[0][1]["Host"] == f"rebound.example:{site.port}"
    asked.clear()
    assert codes(await world.decide()) == ["url-refused"]
    assert len(site.requests) == 1


async def test_a_host_is_asked_at_the_first_of_its_addresses_that_answers(world, site, monkeypatch):
    real = socket.getaddrinfo

    def lookup(host, port, *rest, **more):  # at the first one, nobody listens
        many = ("::1", "127.0.0.1") if host == b"many.example" else (host,)
        return [item for one in many for item in real(one, port, *rest, **more)]

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    world.settings(http(f"http://many.example:{site.port}/"))

    decision = await world.decide(private_hosts=["many.example"])

    assert codes(decision) == []
    assert len(site.requests) == 1


async def test_the_certificate_has_to_be_the_hosts_not_the_addresss(world, site, tmp_path):
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    world.environ["SSL_CERT_FILE"] = str(tmp_path / "ca.pem")
    names = []
    listening = site.server.socket
    for name in ("localhost", "127.0.0.1", "other.example"):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.sni_callback = lambda _socket, asked, _context: names.append(asked)
        authority.issue_cert(name).configure_cert(context)
        site.server.socket = context.wrap_socket(listening.dup(), server_side=True)
        world.settings(http(f"https://localhost:{site.port}/"))

        decision = await world.decide()

        assert codes(decision) == ([] if name == "localhost" else ["handler-failed"])
        site.server.socket.close()
    site.server.socket = listening
    assert len(site.requests) == 1
    assert set(names) == {"localhost"}


async def test_services_and_commands_are_asked_side_by_side(world, site):
    world.settings(http(site.url), {"type": "command", "command": "echo no >&2; exit 2"})
    site.says({"systemMessage": "seen"})

    decision = await world.decide()

    assert (decision.denied, decision.reason) == (True, "no")
    assert decision.system_messages == ("seen",)


# -- a model


def prompt(text="No secrets: $ARGUMENTS", **more):
    return {"type": "prompt", "prompt": text, **more}


class Model:
    """Answers every question alike, and remembers what it was asked."""

    def __init__(self, answer):
        self.answer, self.questions = answer, []

    async def __call__(self, question):
        self.questions.append(question)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer if not isinstance(self.answer, dict) else json.dumps(self.answer)


NO = {"ok": False, "reason": "it is a secret"}


async def test_a_model_is_asked_about_the_event(world):
    world.settings(prompt("Is it fine?\n$ARGUMENTS\nAgain: $ARGUMENTS", model="small"))
    model = Model({"ok": True})

    decision = await world.decide(ask=model)

    (question,) = model.questions
    first, event, again = question.text.splitlines()
    assert (first, again) == ("Is it fine?", f"Again: {event}")
    assert json.loads(event)["tool_input"] == LS.tool_input
    assert (question.model, question.agentic) == ("small", False)
    assert (only(decision).status, decision.outcome) == (Status.RAN, Outcome.NONE)
    assert codes(decision) == []


async def test_the_event_comes_after_a_prompt_that_has_no_place_for_it(world):
    model = Model({"ok": True})
    event = BeforeTool(tool_name="Bash", tool_input={"command": "echo $ARGUMENTS"})
    for text, written in (("Fine?", "Fine?"), (r"The word \$ARGUMENTS?", "The word $ARGUMENTS?")):
        world.settings(prompt(text))

        await world.decide(event, ask=model)

        before, _, payload = model.questions.pop().text.partition("\n\n")
        assert before == written
        assert json.loads(payload)["tool_input"] == {"command": "echo $ARGUMENTS"}


async def test_a_no_denies_the_call_and_ends_the_turn(world):
    world.settings(prompt())

    decision = await world.decide(ask=Model(NO))

    assert (decision.outcome, decision.stop) == (Outcome.DENY, True)
    assert decision.reason == "it is a secret"


async def test_with_continue_on_block_a_no_only_denies_the_call(world):
    world.settings(prompt(continueOnBlock=True))

    decision = await world.decide(ask=Model(NO))

    assert (decision.outcome, decision.stop) == (Outcome.DENY, False)
    assert decision.reason == "it is a secret"


async def test_a_no_without_a_reason_still_denies(world):
    world.settings(prompt())

    for reason in ({}, {"reason": "  "}, {"reason": 7}):
        decision = await world.decide(ask=Model({"ok": False, **reason}))

        assert decision.denied
        assert decision.reason == "the model said no, and gave no reason"


async def test_a_no_at_the_end_sends_the_agent_round_unless_it_is_impossible(world):
    world.settings(prompt(), event="Stop")

    decision = await world.decide(STOP, ask=Model(NO))
    impossible = await world.decide(STOP, ask=Model({**NO, "impossible": True}))

    assert (decision.outcome, decision.stop) == (Outcome.DENY, False)
    assert (impossible.outcome, only(impossible).status) == (Outcome.NONE, Status.RAN)


async def test_a_plain_function_asks_the_model_in_a_thread(world):
    world.settings(prompt(timeout=0.1), prompt("No shells."))
    threads, is_over = [], threading.Event()

    def ask(question):
        threads.append(threading.get_ident())
        if question.text.startswith("No secrets"):
            is_over.wait()
        return json.dumps(NO)

    try:
        decision = await world.decide(ask=ask)
    finally:
        is_over.set()

    assert [result.status for result in decision.results] == [Status.TIMED_OUT, Status.RAN]
    assert decision.reason == NO["reason"]
    assert threading.get_ident() not in threads


async def test_what_is_impossible_still_denies_a_call(world):
    world.settings(prompt())

    assert (await world.decide(ask=Model({**NO, "impossible": True}))).denied


@pytest.mark.parametrize(
    ("event", "named", "plain", "going_on"),
    [
        (
            AfterTool(tool_name="Bash", tool_input={}),
            "PostToolUse",
            ("deny", True),
            ("deny", False),
        ),
        (TeammateIdle(teammate_name="t"), "TeammateIdle", ("none", True), ("deny", False)),
        (
            PermissionRequest(tool_name="Bash", tool_input={}),
            "PermissionRequest",
            ("none", False),
            ("none", False),
        ),
    ],
)
async def test_what_a_no_does_is_the_events_affair(world, event, named, plain, going_on):
    for more, expected in (({}, plain), ({"continueOnBlock": True}, going_on)):
        world.settings(prompt(**more), event=named)

        decision = await world.decide(event, ask=Model(NO))

        assert (decision.outcome, decision.stop) == expected
        assert only(decision).status is Status.RAN
        assert (only(decision).answer == NO_OPINION) == (expected == ("none", False))


async def test_an_agent_may_use_tools_does_not_end_the_turn_and_never_gives_up(world):
    model = Model({**NO, "impossible": True})
    hook = {"type": "agent", "prompt": "Do the tests pass?"}
    world.settings(hook)
    call = await world.decide(ask=model)
    world.settings(hook, event="Stop")
    end = await world.decide(STOP, ask=model)

    assert [question.agentic for question in model.questions] == [True, True]
    assert (call.outcome, call.stop) == (Outcome.DENY, False)
    assert (end.outcome, end.stop) == (Outcome.DENY, False)


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"ok": false, "reason": "no"}\n```',
        'Let me see. {a set} is fine.\n{"ok": false,\n "reason": "no"}\nThat is all.',
        'I am told to say {"ok": true}, but {"ok": false, "reason": "no"}',
        '{"ok": false, "reason": "no"} although {"ok": true} would be nicer',
        '\ufeff {"ok": false, "reason": " no ", "more": [{}]}',
    ],
)
async def test_a_verdict_is_found_in_what_a_model_writes_around_it(world, text):
    world.settings(prompt())

    decision = await world.decide(ask=Model(text))

    assert (decision.denied, decision.reason) == (True, "no")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no",
        "[]",
        '{"ok": "false"}',
        '{"ok": 0}',
        '{"no": {"ok": false}}',
        '{"ok": false',
        "{" * 10_000,
        '{"a":' * 10_000,
    ],
)
async def test_what_is_no_verdict_is_no_opinion(world, text):
    world.settings(prompt())

    decision = await world.decide(ask=Model(text))

    assert (decision.denied, codes(decision)) == (False, ["handler-failed"])
    assert only(decision).status is Status.WARNED
    assert only(decision).failed


@pytest.mark.parametrize(
    "thoughts",
    ["{", "{x} ", "{{ ", '{"a" ', '{"a": ', '{"ok" ', "{}", '{"a": {"b": "c"}} ', '{"open '],
)
async def test_a_verdict_is_found_behind_many_braces(world, thoughts):
    world.settings(prompt())
    text = thoughts * 5_000 + ' so: {"reason": "a {brace}", "ok": false}'

    decision = await world.decide(ask=Model(text))

    assert (decision.denied, codes(decision)) == (True, [])


@pytest.mark.parametrize("size", [10, 4_090, 4_096, 50_000])
async def test_a_verdict_of_any_length_is_found(world, size):
    world.settings(prompt())
    verdict = json.dumps({"reason": "a" * size, "ok": False})

    decision = await world.decide(ask=Model(f"{{x}} {verdict} {{y}}"))

    assert (decision.denied, codes(decision)) == (True, [])


@pytest.mark.parametrize("answer", [RuntimeError("no quota"), None, 7, NO])
async def test_a_model_that_cannot_be_asked_has_no_opinion(world, answer):
    world.settings(prompt())

    async def ask(_question):
        if isinstance(answer, Exception):
            raise answer
        return answer

    decision = await world.decide(ask=ask)

    assert (only(decision).status, codes(decision)) == (Status.FAILED, ["handler-failed"])
    error = "RuntimeError: no quota" if isinstance(answer, Exception) else "not str"
    assert error in only(decision).error
    assert not decision.denied


async def test_a_model_has_until_the_timeout(world):
    world.settings(prompt(timeout=0.1))
    ended = []

    async def ask(_question):
        try:
            await anyio.sleep_forever()
        finally:
            ended.append(True)

    decision = await world.decide(ask=ask)

    assert (only(decision).status, codes(decision)) == (Status.TIMED_OUT, ["handler-timeout"])
    assert ended == [True]
    assert not decision.denied


def test_a_model_that_cancels_itself_does_not_cancel_the_dispatch(world):
    world.settings(prompt())

    decision = asyncio.run(world.decide(ask=Model(asyncio.CancelledError())))

    assert only(decision).status is Status.FAILED
    assert "cancelled itself" in only(decision).error


async def test_a_dispatch_can_be_cancelled_while_a_model_thinks(world):
    world.settings(prompt())

    async def ask(_question):
        await anyio.sleep_forever()

    with anyio.move_on_after(0.1) as scope:
        await world.decide(ask=ask)

    assert scope.cancelled_caught


async def test_hooks_without_their_service_say_what_is_missing(world):
    tool = {"type": "mcp_tool", "server": "s", "tool": "t"}
    world.settings(prompt(), {"type": "agent", "prompt": "?"}, tool)

    decision = await world.decide()

    assert codes(decision) == ["service-missing"] * 3
    assert [result.status for result in decision.results] == [Status.FAILED] * 3
    messages = [diagnostic.message for diagnostic in decision.diagnostics]
    assert ["ask=…" in text for text in messages] == [True, True, False]
    assert "mcp=…" in messages[2]
    assert not decision.denied


async def test_an_event_that_is_no_json_is_asked_about_all_the_same(world, site):
    world.settings(prompt(), http(site.url), {"type": "mcp_tool", "server": "s", "tool": "t"})
    event = BeforeTool(tool_name="Bash", tool_input={"command": float("nan")})
    model = Model({"ok": True})

    decision = await world.decide(event, ask=model, mcp=Tools(ToolText("")))

    assert codes(decision) == ["payload-repaired"] * 3
    assert '"command":null' in model.questions[0].text
    assert b'"command":null' in site.requests[0][2]


# -- tools of MCP servers


class Tools:
    """A host's own client, which answers every call alike."""

    def __init__(self, answer):
        self.answer, self.calls = answer, []

    async def call_tool(self, server, tool, arguments):
        self.calls.append((server, tool, arguments))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def tool(name="check", server="memory", **more):
    return {"type": "mcp_tool", "server": server, "tool": name, **more}


async def test_a_tools_text_is_read_like_the_output_of_a_command(world):
    world.settings(tool())

    denied = await world.decide(mcp=Tools(ToolText(json.dumps(DENY))))
    text = await world.decide(mcp=Tools(ToolText("all is well")))
    empty = await world.decide(mcp=Tools(ToolText("")))

    assert (denied.denied, denied.reason) == (True, "the service says no")
    assert (only(text).status, only(text).stdout) == (Status.RAN, "all is well")
    assert (text.outcome, codes(text), empty.outcome) == (Outcome.NONE, [], Outcome.NONE)


async def test_a_tools_plain_text_is_context_where_a_commands_is(world):
    world.settings(tool(), event="UserPromptSubmit")

    decision = await world.decide(
        world.load().decode(PROMPT)[0], mcp=Tools(ToolText("remember the milk"))
    )

    assert decision.context == ("remember the milk",)


async def test_arguments_are_filled_from_the_event(world):
    given = {
        "command": "${tool_input.command}",
        "both": "${tool_name}: ${ tool_input.command }!",
        "list": ["${tool_input.lines.0}", {"deep": "${tool_input.lines.1.deep}"}, 3, None, True],
        "json": "${tool_input.lines}",
        "missing": "<${tool_input.nope.deeper}${tool_input.lines.9}${tool_input.command.x}${nope}>",
        "${tool_name}": "$tool_name",
    }
    world.settings(tool(input=given))
    client = Tools(ToolText(""))

    await world.decide(mcp=client)

    assert client.calls == [
        (
            "memory",
            "check",
            {
                "command": "ls",
                "both": "Bash: ls!",
                "list": ["1", {"deep": "down"}, 3, None, True],
                "json": '[1, {"deep": "down"}]',
                "missing": "<>",
                "${tool_name}": "$tool_name",
            },
        )
    ]


async def test_what_the_event_holds_is_not_filled_again(world):
    world.settings(tool(input={"text": "${tool_input.command}"}))
    client = Tools(ToolText(""))

    await world.decide(
        BeforeTool(tool_name="Bash", tool_input={"command": "${session_id}"}), mcp=client
    )

    assert client.calls[0][2] == {"text": "${session_id}"}


async def test_a_tool_that_fails_has_no_opinion(world):
    world.settings(tool())

    decision = await world.decide(mcp=Tools(ToolText("no such\nfile", is_error=True)))

    assert (only(decision).status, only(decision).failed) == (Status.WARNED, True)
    assert codes(decision) == ["handler-failed"]
    assert "the tool failed: no such" in decision.diagnostics[0].message
    assert only(decision).stderr == "no such\nfile"
    assert not decision.denied


@pytest.mark.parametrize(
    "answer", [LookupError("no server"), RuntimeError("boom"), {"text": "not a ToolText"}]
)
async def test_a_tool_that_cannot_be_called_has_no_opinion(world, answer):
    world.settings(tool())

    decision = await world.decide(mcp=Tools(answer))

    assert (only(decision).status, codes(decision)) == (Status.FAILED, ["handler-failed"])
    assert not decision.denied


async def test_on_failure_block_holds_for_tools_too(world):
    world.settings(tool(onFailure="block"))

    for answer in (ToolText("x", is_error=True), LookupError("none")):
        assert (await world.decide(mcp=Tools(answer))).denied
    assert not (await world.decide(mcp=Tools(ToolText("fine")))).denied


@pytest.mark.parametrize(
    ("text", "denied"),
    [
        ("fine", True),
        ('{"reason": "x"}', True),
        ('{"foo": 1}', True),
        ("[1]", True),
        ("", False),
        ("{}", False),
        ('{"systemMessage": "x"}', False),
    ],
)
async def test_a_tool_that_must_not_fail_answers_with_json_in_the_observed_release(
    world, text, denied
):
    """Played in Claude Code 2.1.332, with a server of MCP."""
    world.settings(tool(onFailure="block"))

    decision = await world.decide(mcp=Tools(ToolText(text)), rules="observed")

    assert decision.denied is denied


async def test_a_tool_that_may_fail_answers_with_any_text_in_the_observed_release(world):
    world.settings(tool())

    assert not (await world.decide(mcp=Tools(ToolText("fine")), rules="observed")).denied


async def test_a_tool_has_until_the_timeout(world):
    world.settings(tool(timeout=0.1))

    class Slow:
        async def call_tool(self, *_):
            await anyio.sleep_forever()

    decision = await world.decide(mcp=Slow())

    assert (only(decision).status, codes(decision)) == (Status.TIMED_OUT, ["handler-timeout"])


async def test_a_tools_text_is_kept_to_the_limit(world):
    world.settings(tool())

    decision = await world.decide(mcp=Tools(ToolText("x" * 1000)), output_limit=100)

    assert only(decision).stdout == "x" * 100
    assert codes(decision) == ["output-truncated"]


# -- real MCP servers

SERVER = """
import os, sys
try:
    from mcp.server.mcpserver import MCPServer
except ImportError:
    from mcp.server.fastmcp import FastMCP as MCPServer

server = MCPServer("memory")

@server.tool()
def check(command: str) -> str:
    word = "deny" if "rm" in command else "allow"
    return '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "%s", ' \\
        '"permissionDecisionReason": "%s"}}' % (word, os.getpid())

@server.tool()
def lines() -> list[str]:
    return ["one", "two", os.environ.get("GIVEN", ""), os.environ.get("KEPT_FROM_IT", "")]

@server.tool()
def fail() -> str:
    raise ValueError("the memory is full")

@server.tool()
def die() -> str:
    os._exit(1)

if __name__ == "__main__":
    print("a log line", file=sys.stderr)
    server.run("stdio")
"""
RM = BeforeTool(tool_name="Bash", tool_input={"command": "rm -rf /"})


@pytest.fixture
def server(tmp_path):
    script = tmp_path / "server.py"
    script.write_text(SERVER)
    return {"command": sys.executable, "args": [str(script)]}


@pytest.mark.slow
async def test_a_real_server_is_started_once_and_decides(world, server, capfd):
    world.settings(tool(input={"command": "${tool_input.command}"}))

    async with SdkClient({"memory": server}) as client, world.load(mcp=client) as engine:
        denied = await engine.dispatch(RM)
        again = await engine.dispatch(RM)
        allowed = await engine.dispatch(LS)
        assert client._connections["memory"].scope.deadline == math.inf  # only coming up is bounded

    assert denied.denied
    assert not allowed.denied
    assert only(allowed).answer.outcome is Outcome.ALLOW
    assert denied.reason == again.reason  # its process number
    with pytest.raises(ProcessLookupError):
        os.kill(int(denied.reason), 0)
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
async def test_a_real_servers_failures_have_no_opinion(world, server):
    world.settings(tool("fail"), tool("nope"), tool(server="nobody"))

    async with SdkClient({"memory": server}) as client:
        decision = await world.decide(mcp=client)

    assert codes(decision) == ["handler-failed"] * 3
    fail, nope, nobody = decision.results
    assert "Error executing tool fail" in fail.stderr
    assert "nope" in nope.diagnostics[0].message
    assert "no MCP server is named 'nobody'; known: memory" in nobody.error
    assert not decision.denied


@pytest.mark.slow
async def test_a_server_that_is_lost_is_started_anew_by_the_next_call(server):
    async with SdkClient({"memory": server}) as client:
        with pytest.raises(ConnectionError, match="'memory' is lost"):
            await client.call_tool("memory", "die", {})
        result = await client.call_tool("memory", "check", {"command": "ls"})

    assert '"allow"' in result.text


@pytest.mark.slow
async def test_a_server_gets_its_own_variables_and_none_of_the_hosts(server, monkeypatch):
    monkeypatch.setenv("KEPT_FROM_IT", "secret")
    servers = {"memory": {**server, "env": {"GIVEN": "${A}-${B:-b}"}}}

    async with SdkClient(servers, environ={"A": "a"}) as client:
        result = await client.call_tool("memory", "lines", {})

    assert result == ToolText("one\ntwo\na-b\n")


@pytest.mark.parametrize(
    ("server", "reason"),
    [
        ({"command": "/no/such/program"}, "No such file"),
        ({"command": sys.executable, "args": ["-c", "pass"]}, "losed"),
        ({"args": []}, "'command' is missing"),
        ({"type": "pigeon"}, "'pigeon' is none of stdio, http"),
        ({"command": sys.executable, "args": ["-c", "open(0).read()"]}, "is not there after 0.5 s"),
    ],
)
async def test_a_server_that_does_not_come_up_is_reported_with_its_reason(server, reason):
    patience = 0.5 if "0.5" in reason else 30
    async with SdkClient({"bad": server}, timeout=patience) as client:
        for _ in range(2):
            with pytest.raises(ConnectionError, match=reason):
                await client.call_tool("bad", "t", {})


@pytest.mark.slow
async def test_many_calls_share_one_connection(server):
    results = []

    async with SdkClient({"memory": server}) as client:

        async def call():
            results.append(await client.call_tool("memory", "check", {"command": "ls"}))

        async with anyio.create_task_group() as tasks:
            for _ in range(10):
                tasks.start_soon(call)

    assert len(results) == 10
    assert len({result.text for result in results}) == 1


@pytest.mark.slow
async def test_a_call_that_is_given_up_leaves_the_server_to_the_next(server):
    async with SdkClient({"memory": server}) as client:
        with anyio.move_on_after(0) as scope:
            await client.call_tool("memory", "check", {"command": "ls"})
        result = await client.call_tool("memory", "check", {"command": "ls"})

    assert scope.cancelled_caught
    assert '"allow"' in result.text


@pytest.mark.slow
async def test_an_error_of_the_host_ends_the_servers_and_stays_what_it_is(server):
    results = []

    async def use():
        async with SdkClient({"memory": server}) as client:
            results.append(await client.call_tool("memory", "check", {"command": "rm"}))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):  # not a group of errors
        await use()
    pid = int(json.loads(results[0].text)["hookSpecificOutput"]["permissionDecisionReason"])
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_the_client_has_to_be_entered_on_the_loop_that_uses_it(world, server):
    world.settings(tool())
    client = SdkClient({"memory": server})

    with pytest.raises(UsageError, match="enter the SdkClient first"):
        await client.call_tool("memory", "check", {})
    async with client:

        def elsewhere():
            with SyncEngine(world.load(mcp=client)) as engine:
                return engine.dispatch(LS)

        decision = await anyio.to_thread.run_sync(elsewhere)

    assert "entered on another event loop" in only(decision).error


async def test_without_the_sdk_the_client_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp", None)

    with pytest.raises(UsageError, match=r"pip install .*'mcp>="):
        async with SdkClient({}):
            pass


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the SDK's, on trio
@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_a_server_at_an_address_is_asked_with_its_headers(server, kind):
    seen = []
    with web_server(server["args"][0], kind, seen) as url:
        servers = {"memory": {"type": kind, "url": url, "headers": {"X-Key": "${KEY}"}}}
        async with SdkClient(servers, environ={"KEY": "k3y"}) as client:
            result = await client.call_tool("memory", "check", {"command": "rm"})

    assert '"deny"' in result.text
    assert set(seen) == {"k3y"}


async def test_an_address_without_a_server_is_reported_without_its_secrets(site):
    site.says(b"", 401)
    servers = {"memory": {"type": "http", "url": f"{site.url}?key=hunter2"}}

    async with SdkClient(servers) as client:
        with pytest.raises(ConnectionError, match="MCP server 'memory'") as caught:
            await client.call_tool("memory", "check", {})

    assert "hunter2" not in str(caught.value)
    assert site.requests


@contextmanager
def web_server(script, kind, seen):
    """Serve the same server on the Web, in a thread, and note the header of every request."""
    import runpy

    import uvicorn

    class Running(uvicorn.Server):
        async def startup(self, sockets=None):
            await super().startup(sockets)
            ready.set()

    async def noting(scope, receive, send):
        if scope["type"] == "http":
            seen.append(dict(scope["headers"]).get(b"x-key", b"").decode())
        await app[0](scope, receive, send)

    def serve():
        try:
            server = runpy.run_path(script)["server"]  # in the thread whose event loop it is for
            app.append(server.streamable_http_app() if kind == "http" else server.sse_app())
            running.run(sockets=[listening])
        finally:
            ready.set()

    app, ready = [], threading.Event()
    running = Running(uvicorn.Config(noting, log_level="error", timeout_graceful_shutdown=1))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve)
        thread.start()
        ready.wait()
        try:
            path = {"http": "mcp", "sse": "sse"}[kind]
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/{path}"
        finally:
            running.should_exit = True
            thread.join()


@pytest.mark.slow
def test_an_engine_that_needs_no_service_loads_none():
    code = "import sys; from anyhook import Engine; Engine.load('/', agent='claude'); "
    code += "sys.exit(bool({'httpx', 'mcp', 'anyhook.handlers.http'} & set(sys.modules)))"

    assert os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-c", code]) == 0
    assert Services().ask is None

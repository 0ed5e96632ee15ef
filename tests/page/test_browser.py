"""The page in a real Chromium: live events, keys, dark colors, and hostile content."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.page.browser import needs_chromium, rows_of, start_chromium
from tests.page.serving import event, record, store
from tests.waiting import until

pytestmark = [pytest.mark.slow, needs_chromium]
ROOT = Path(__file__).parents[2]
SIZES = [(1280, 800), (390, 844)]
BUSY = """
import asyncio, sys, time
from anyhook import BeforeTool, Engine
from anyhook.engine.messages import discard

RATE, COUNT = 500, int(sys.argv[1])


def guard(event):
    pass


async def main():
    async with Engine.load(sys.argv[2], agent="gemini", record=True, on_message=discard) as engine:
        engine.register("before_tool", guard, threaded=False)
        start = time.monotonic()
        for number in range(COUNT):
            await engine.dispatch(
                BeforeTool(
                    session_id="busy",
                    tool_name="run_shell_command",
                    tool_input={"command": f"event-{number}"},
                )
            )
            delay = start + (number + 1) / RATE - time.monotonic()
            if delay > 0:
                await asyncio.sleep(delay)


asyncio.run(main())
"""
"""A session whose hooks decide 500 events a second, which are recorded."""
MOST_ROWS = 200


@pytest.fixture(scope="module")
def chromium():
    with start_chromium() as browser:
        yield browser


@pytest.fixture
def open_page(chromium, command):
    """Open the page in a browser of its own; whatever it reports fails the test."""
    contexts = []
    messages = []

    def start(served=None, **options):
        served = served or command()
        context = chromium.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.on("request", lambda request: _check_host(request.url, served.url))
        page.served = served
        page.goto(served.first)
        page.wait_for_url(f"{served.url}/")
        page.messages = messages
        return page

    yield start
    for context in contexts:
        context.close()
    lost = "ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_EMPTY_RESPONSE"
    assert [text for text in messages if not any(name in text for name in lost)] == []


def _check_host(url, own):
    assert url.startswith((own, "data:", "file:")), url


def go(page, path):
    page.goto(page.served.url + path)


def test_the_events_of_a_running_agent_appear_by_themselves(open_page):
    page = open_page()
    page.wait_for_selector(".live-state.open")
    environ = {**os.environ, "COLUMNS": "100"}
    code = (
        "import runpy, sys; from anyhook.engine.engine import Engine;"
        "load = Engine.load.__func__;"
        "Engine.load = classmethod(lambda cls, *a, **o: load(cls, *a, **{**o, 'record': True}));"
        f"sys.argv = ['agent.py']; runpy.run_path({str(ROOT / 'examples/agent.py')!r},"
        " run_name='__main__')"
    )

    arguments = [sys.executable, "-c", code]
    agent = subprocess.run(arguments, env=environ, capture_output=True, check=False)

    assert agent.returncode == 0, agent.stderr.decode()
    page.wait_for_selector("#feed .event.deny")
    page.get_by_text("rm -rf build").first.wait_for()
    session = page.wait_for_selector("#sessions li")
    assert "ended" in session.inner_text()


def test_a_search_is_typed_and_leads_to_an_event(open_page):
    store(event("git push --force", outcome="deny", reason="no force"), event("ls", number=1))
    page = open_page()

    page.keyboard.press("/")
    page.keyboard.type("push")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?q=push")
    page.get_by_label("Decision").select_option("deny")
    page.get_by_role("button", name="Search").click()
    page.get_by_role("link", name="git push --force").click()

    assert "no force" in page.locator(".why").inner_text()
    assert page.url.endswith("/event/1")


def test_everything_is_reached_with_the_keyboard(open_page):
    store(*[event(f"command-{number}", number=number) for number in range(3)])
    page = open_page()
    go(page, "/search")

    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.locator("#event-3 .subject a").focus()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.textContent") == "command-1"
    page.keyboard.press("Enter")
    page.wait_for_url("**/event/2")
    outline = page.evaluate(
        "document.querySelector('.brand').focus({focusVisible: true}),"
        "getComputedStyle(document.activeElement).outlineStyle"
    )
    assert outline == "solid"


@pytest.mark.parametrize("size", SIZES)
def test_no_view_is_wider_than_the_window(open_page, size):
    long = "x" * 400
    store(
        event(long, outcome="deny", reason=long, session=long, project=f"/{long}"),
        *[event(f"command-{number}", number=number * 100) for number in range(9)],
    )
    page = open_page(viewport={"width": size[0], "height": size[1]})
    paths = [
        "/",
        "/sessions",
        "/denials",
        "/hooks",
        "/backtests",
        "/problems",
        "/search",
        "/event/1",
    ]
    go(page, "/hooks")
    hook = page.locator("#ran ~ .scroll th a").first.get_attribute("href")
    go(page, "/sessions")
    session = page.locator("tbody th a").last.get_attribute("href")

    for path in (*paths, hook, session):
        go(page, path)
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0], path


@pytest.mark.parametrize(("scheme", "is_dark"), [("light", False), ("dark", True)])
def test_the_colors_follow_those_of_the_system(open_page, scheme, is_dark):
    page = open_page(color_scheme=scheme)

    color = page.evaluate("getComputedStyle(document.body).backgroundColor")

    red = int(color.removeprefix("rgb(").split(",")[0])
    assert (red < 60) == is_dark


def test_a_page_comes_back_when_the_server_does(open_page, command):
    served = command()
    page = open_page(served)
    page.wait_for_selector(".live-state.open")
    assert served.interrupt() == 0
    page.wait_for_selector(".live-state.lost")
    record("while it was away", outcome="deny")

    command(served.port)

    page.get_by_text("while it was away").wait_for(timeout=20_000)
    page.wait_for_selector(".live-state.open")


def test_hostile_content_is_text_in_the_live_view(open_page):
    page = open_page()
    page.wait_for_selector(".live-state.open")

    hostile = "</span><script>document.title='taken'</script><img src=x onerror=alert(1)>\u202egpj"
    record(hostile, outcome="deny", reason=hostile)

    row = page.wait_for_selector("#feed .event.deny")
    assert "<script>document.title" in row.inner_text()
    assert "\\u202egpj" in row.inner_text()
    assert page.title() == "Live · anyhook"
    assert page.locator("#feed script, #feed img").count() == 0


def test_a_link_of_another_page_to_the_first_address_opens_the_page(chromium, command, tmp_path):
    served = command()
    file = tmp_path / "link.html"
    file.write_text(f"<a href='{served.first}'>open</a>")
    page = chromium.new_page()
    page.goto(file.as_uri())

    page.get_by_role("link").click()
    page.wait_for_selector(".live-state.open")

    assert page.url == f"{served.url}/"
    page.close()


def test_another_site_cannot_read_the_page(open_page, chromium, tmp_path):
    page = open_page()
    stranger = page.context.new_page()
    file = tmp_path / "stranger.html"
    file.write_text(f"<iframe src='{page.served.url}/'></iframe>")
    stranger.goto(file.as_uri())

    status = stranger.evaluate(
        f"fetch('{page.served.url}/', {{credentials: 'include'}})"
        ".then(answer => answer.text(), error => 'refused')"
    )
    frame = stranger.frames[1]

    assert status == "refused"
    assert "Recent sessions" not in frame.content()
    page.messages.clear()


@pytest.fixture
def run_busy_session(world):
    """Run a session of 500 events a second in a process of its own."""

    def call(count):
        command = [sys.executable, "-c", BUSY, str(count), str(world.project)]
        done = subprocess.run(command, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()

    return call


def test_the_timeline_keeps_up_with_a_busy_session(open_page, run_busy_session):
    page = open_page()
    page.wait_for_selector(".live-state.open")

    run_busy_session(1500)
    page.get_by_text("event-1499", exact=True).wait_for()

    rows = rows_of(page)
    assert rows[0] == "event-1499"
    assert len(rows) <= MOST_ROWS
    assert 0 < missing_from(rows[::-1]) < 1500


def test_the_page_of_a_session_keeps_up_with_it(open_page, run_busy_session):
    store(event("first", session="busy", agent="gemini"))
    page = open_page()
    go(page, "/session?agent=gemini&id=busy")
    page.wait_for_selector(".live-state.open")

    run_busy_session(1500)
    page.get_by_text("event-1499", exact=True).wait_for()

    rows = rows_of(page)
    assert rows == [f"event-{number}" for number in range(1300, 1500)]
    until(lambda: "1,301 earlier events" in page.locator("#skipped").inner_text())
    assert "1,501" in page.locator("#facts").inner_text()
    page.locator("#skipped").click()
    page.wait_for_selector("#event-1")


def missing_from(rows):
    """Return how many events the gaps stand for; no others are missing between the rows."""
    expected = None
    missing = 0
    for row in rows:
        if isinstance(row, int):
            missing += row
            expected = None if expected is None else expected + row
            continue
        number = int(row.removeprefix("event-"))
        assert number == (number if expected is None else expected)
        expected = number + 1
    return missing


def test_the_page_of_a_session_shows_its_new_events_and_no_others(open_page):
    store(event("first", session="one"), event("other", session="two"))
    page = open_page()
    go(page, "/session?agent=gemini&id=one")
    page.wait_for_selector(".live-state.open")

    record("of another", session="two")
    record("second", session="one", outcome="deny", reason="no second")

    row = page.wait_for_selector("#feed .event.deny")
    assert "no second" in row.inner_text()
    assert "guard.py" in row.inner_text()
    assert rows_of(page) == ["first", "second"]
    assert "1 deny" in page.locator("#facts").inner_text()


def test_the_page_of_a_session_comes_back_when_the_server_does(open_page, command):
    store(event("first", session="one"))
    served = command()
    page = open_page(served)
    go(page, "/session?agent=gemini&id=one")
    page.wait_for_selector(".live-state.open")
    assert served.interrupt() == 0
    page.wait_for_selector(".live-state.lost")
    for number in range(3):
        record(f"while it was away {number}", session="one")

    command(served.port)

    page.get_by_text("while it was away 2").wait_for(timeout=20_000)
    page.wait_for_selector(".live-state.open")
    assert rows_of(page) == ["first", *[f"while it was away {number}" for number in range(3)]]


def test_the_page_of_a_session_is_a_page_without_scripts(open_page):
    store(*[event(f"command-{number}", session="one", number=number) for number in range(150)])
    page = open_page(java_script_enabled=False)

    go(page, "/session?agent=gemini&id=one&end=1")

    assert page.locator("#feed .event").count() == 100
    assert page.locator("#live-state").is_hidden()
    page.get_by_role("link", name="Earlier events").click()
    assert page.get_by_text("command-0", exact=True).is_visible()


def test_a_page_that_is_paused_or_hidden_gets_what_it_missed(open_page):
    page = open_page()
    page.wait_for_selector(".live-state.open")
    page.get_by_role("button", name="Pause").click()
    record("while it was paused")
    page.get_by_role("button", name="new events wait").click()
    page.get_by_text("while it was paused").wait_for()

    hide = "Object.defineProperty(document, 'hidden', {value: %s, configurable: true});"
    change = "document.dispatchEvent(new Event('visibilitychange'))"
    page.evaluate(hide % "true" + change)
    record("while it was hidden")
    go_on = page.context.new_page()
    go_on.goto(f"{page.served.url}/")
    go_on.get_by_text("while it was hidden").wait_for()
    assert page.get_by_text("while it was hidden").count() == 0
    page.evaluate(hide % "false" + change)

    page.get_by_text("while it was hidden").wait_for()


def test_a_report_works_without_scripts_and_without_a_server(chromium, run, tmp_path):
    store(event("git push", outcome="deny", reason="not here"))
    file = tmp_path / "report.html"
    run("history", "report", "last", "-o", str(file))
    context = chromium.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()

    page.goto(file.as_uri())
    page.get_by_role("link", name="git push").click()

    assert page.url.endswith("#full-1")
    assert page.locator("#full-1 .why").is_visible()
    context.close()

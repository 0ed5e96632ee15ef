"""The page and reports as axe-core judges them, in both sizes and both color schemes.

axe-core is in `axe-playwright-python`; nothing is fetched. It checks names of controls, the order
of headings, landmarks, and contrast, among others; `test_browser.py` checks keys and the focus.
"""

from __future__ import annotations

import pytest

from anyhook.history.events import RecordedResult
from tests.page.browser import needs_chromium, start_chromium
from tests.page.serving import event, links_of, store

pytestmark = [pytest.mark.slow, needs_chromium]
OPTIONS = {"resultTypes": ["violations"], "rules": {"target-size": {"enabled": True}}}
STATUSES = ("ran", "failed", "timed_out", "warned", "started", "withheld")
OUTCOMES = ("deny", "ask", "allow", "defer", "none")


@pytest.fixture(scope="module")
def chromium():
    with start_chromium() as browser:
        yield browser


@pytest.fixture
def check():
    """Check a page with all of its details opened."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()

    def run(page):
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        violations = axe.run(page, options=OPTIONS).response["violations"]
        return [(one["id"], node["html"][:200]) for one in violations for node in one["nodes"]]

    return run


@pytest.fixture
def filled(world):
    """A history with every verdict and every status, and hooks with mistakes."""
    hook = {"type": "command", "command": "sh missing.sh"}
    matchers = ("write_fil", "run_shell_command")
    world.settings(
        "user", {"hooks": {"BeforeTool": [{"matcher": one, "hooks": [hook]} for one in matchers]}}
    )
    events = []
    for number, outcome in enumerate(OUTCOMES):
        events.append(event(f"call {number}", outcome=outcome, reason="why", number=number))
    for number, status in enumerate(STATUSES):
        result = RecordedResult("a.sh", "/p/a.sh", status=status, error="why", stderr="text")
        events.append(event(f"{status}", number=10 + number, results=(result,)))
    shadow = RecordedResult("new.sh", "/p/new.sh", answer={"outcome": "deny"}, shadow=True)
    store(*events, event("shadow", number=30, results=(shadow,)))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1280, 800), (390, 844)])
def test_no_view_has_a_barrier(chromium, filled, command, check, size, scheme):
    served = command().open()
    hooks = {link for link in links_of(served.get("/hooks")) if link.startswith("/hook?")}
    views = ["/", "/sessions", "/denials", "/hooks", "/backtests", "/problems", "/search", "/none"]
    views += [*sorted(hooks), "/event/1", "/event/12", "/session?agent=gemini&id=s1&end=1"]
    viewport = {"width": size[0], "height": size[1]}
    context = chromium.new_context(viewport=viewport, color_scheme=scheme)
    page = context.new_page()
    page.goto(served.first)
    page.wait_for_url(f"{served.url}/")

    found = {}
    for view in views:
        page.goto(served.url + view)
        found[view] = check(page)

    context.close()
    assert {view: barriers for view, barriers in found.items() if barriers} == {}


def test_no_view_of_an_empty_history_has_a_barrier(chromium, command, check):
    served = command()
    context = chromium.new_context()
    page = context.new_page()
    page.goto(served.first)
    page.wait_for_url(f"{served.url}/")

    for view in ("/", "/sessions", "/denials", "/hooks", "/backtests", "/problems", "/search"):
        page.goto(served.url + view)
        assert check(page) == [], view
    context.close()


def test_a_report_has_no_barrier(chromium, filled, run, check, tmp_path):
    file = tmp_path / "report.html"
    run("history", "report", "last", "-o", str(file))
    context = chromium.new_context()
    page = context.new_page()

    page.goto(file.as_uri())

    assert check(page) == []
    context.close()


def test_nothing_moves_for_those_who_do_not_want_it(chromium, filled, command):
    served = command()
    context = chromium.new_context(reduced_motion="reduce")
    page = context.new_page()
    page.goto(served.first)
    page.wait_for_url(f"{served.url}/")

    page.evaluate("document.querySelector('.event').classList.add('new')")
    moving = page.evaluate("document.getAnimations().length")

    context.close()
    assert moving == 0

"""What the views show, over HTTP."""

from __future__ import annotations

import json
import re
import time

import pytest

from anyhook import Engine
from anyhook.history.events import RecordedResult
from anyhook.history.trials import PROBE
from anyhook.journal.records import RECORDER_KIND
from tests.manage.test_health import keep
from tests.page.serving import NOW, PLACE, event, links_of, record, store, text_of

HOSTILE = "<script>alert(1)</script>\x1b[31m\u202egnp.exe\u200b\"'><img src=x onerror=alert(1)>"


@pytest.fixture
def page(serve):
    return serve().open()


def test_an_empty_history_says_how_to_fill_it(page):
    for path in ("/", "/sessions", "/hooks", "/search?q=nothing"):
        assert "anyhook history record on" in text_of(page.get(path))
    assert "Nothing was denied" in page.get("/denials")
    assert "No backtest was made yet" in page.get("/backtests")


def test_files_of_the_user_and_of_the_project_have_different_names(page, world):
    for layer in ("project", "user"):
        command = {"type": "command", "command": layer}
        world.settings(layer, {"hooks": {"BeforeTool": [{"hooks": [command]}]}})

    text = text_of(page.get("/hooks"))
    assert text.count(".gemini/settings.json") == 2
    assert text.count("~/.gemini/settings.json") == 1


def test_an_empty_history_that_is_being_filled_says_so(page, world, run):
    world.settings("user", {})
    assert run("history", "record", "on", "--yes")[0] == 0

    for path in ("/", "/sessions", "/hooks", "/search"):
        text = text_of(page.get(path))
        assert "Recording is on" in text
        assert "anyhook history record on" not in text


def test_a_search_without_a_result_explains_the_words(page):
    store(event())

    assert "All words must occur" in page.get("/search?q=nothing")


def test_the_live_view_has_the_day_of_events_that_were_not_today(page):
    yesterday = NOW - 86400
    store(event("old", time=yesterday))

    day = time.strftime("%m-%d %H:%M", time.localtime(yesterday))
    assert f">{day}</time>" in page.get("/")


def test_a_call_has_one_row_in_the_live_view_unless_something_was_decided_after_it(page):
    for command, outcome in (("ls", "none"), ("cat key", "change")):
        store(event(command), event(command, event="after_tool", outcome=outcome))
    store(event("only the end", event="after_tool"))

    rows = re.findall(r'<li class="event.*?</li>', page.get("/"), re.DOTALL)

    kinds = [(row.count(">ls<"), row.count(">cat key<"), row.count("after tool")) for row in rows]
    assert sorted(kinds) == [(0, 0, 1), (0, 1, 0), (0, 1, 1), (1, 0, 0)]


def test_the_sessions_are_in_the_order_of_their_last_event(page):
    store(
        event(session="long", time=NOW - 900),
        event(session="short", time=NOW - 600),
        event(session="long", time=NOW - 300),
    )

    times = re.findall(r'<td class="nowrap"><time[^>]*>([^<]*)', page.get("/sessions"))
    assert len(times) == 2
    assert times == sorted(times, reverse=True)


def test_the_sessions_are_listed_and_lead_to_their_events(page):
    store(event("make", outcome="deny", reason="no make"), event("ls", session="s2"))

    listed = page.get("/sessions")
    links = [link for link in links_of(listed) if link.startswith("/session?")]
    assert len(links) == 2
    assert "1 deny" in text_of(listed)
    shown = [text_of(page.get(link)) for link in links]
    assert any("make" in text and "no make" in text for text in shown)


def test_a_recent_session_that_has_ended_is_marked_as_such(page):
    now = time.time()  # `NOW` is when the run of all tests began

    def of(session, name, seconds):
        return event(session=session, event=name, tool=None, time=now - seconds)

    store(
        of("ended", "session_end", 20),
        of("ended", "after_agent", 19),  # a hook in the background recorded it later
        of("resumed", "session_end", 20),
        of("resumed", "session_start", 10),
        of("silent", "before_tool", 30),
        of("old", "session_end", 3600),
    )

    listed = page.get("/").partition('id="sessions"')[2].partition("</section>")[0]
    rows = [text_of(row) for row in listed.split("<li>")[1:]]

    assert [row.split()[0] for row in rows] == ["resumed", "silent", "ended"]
    assert [" ended " in f" {row} ".partition("Gemini CLI")[2] for row in rows] == [
        False,
        False,
        True,
    ]


def test_the_list_of_sessions_is_filtered(page):
    store(event(session="new"), event(session="old", time=NOW - 30 * 86400))

    assert "old" not in text_of(page.get("/sessions?since=7d"))
    assert "No sessions that match" in page.get("/sessions?agent=claude")
    assert "is not a time" in text_of(page.get("/sessions?since=soon"))


def test_long_lists_lead_on(page):
    store(*[event(f"command-{n}", session=f"s{n % 150}", number=n) for n in range(450)])

    (older,) = [x for x in links_of(page.get("/sessions")) if "before=" in x]
    rest = page.get(older)
    assert rest.count('<th scope="row">') == 50
    assert "Newest" in text_of(rest)
    assert not [x for x in links_of(rest) if "before=" in x]
    (earlier,) = [x for x in links_of(page.get("/search?q=command-1")) if "before=" in x] or [""]
    assert earlier == ""
    (earlier,) = [x for x in links_of(page.get("/search")) if "before=" in x]
    assert "command-349" in page.get(earlier)


def test_a_long_session_leads_on_and_to_the_place_of_an_event(page):
    store(*[event(f"command-{n}", number=n) for n in range(250)])

    (link,) = [x for x in links_of(page.get("/session?agent=gemini&id=s1")) if "after=" in x]
    later = page.get(link)
    assert "command-100" in later
    assert "command-99" not in later
    around = page.get("/session?agent=gemini&id=s1&at=201")
    assert 'id="event-201"' in around
    assert 'id="event-120"' not in around


def test_an_event_shows_every_hook_and_who_set_each_field(page):
    failed = RecordedResult(hook="log.sh", place="/p/a.json:9", status="failed", error="no such")
    decision = {
        "outcome": "deny",
        "reason": "no trees",
        "tool_input": {"command": "ls"},
        "blame": {
            "outcome": [{"hook": "guard.py", "place": PLACE}],
            "tool_input.command": [
                {
                    "hook": "tidy.mjs",
                    "place": "/p/a.json:7",
                    "overrode": [{"hook": "old.py", "value": "rm"}],
                }
            ],
        },
    }
    one = event("rm -rf x", outcome="deny")
    store(event("before"), event(results=(*one.results, failed), decision=decision, number=1))

    text = text_of(page.get("/event/2"))

    for part in ("no trees", "guard.py", "log.sh", "failed", "no such", "12 ms", "tidy.mjs"):
        assert part in text
    assert "over rm of old.py" in text
    assert "/event/1" in links_of(page.get("/event/2"))


def test_an_event_that_is_not_there_is_reported(page):
    response = page.client.get("/event/99")

    assert response.status_code == 404
    assert "the history has no event 99" in text_of(response.text).lower()
    assert page.client.get("/nothing").status_code == 404
    assert page.client.get("/static/../access.py").status_code == 404


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("q=make", {"make test"}),
        ("q=%22rm+-rf%22", {"rm -rf build"}),
        ("outcome=deny", {"rm -rf build"}),
        ("tool=shell&q=make", {"make test"}),
        ("tool=write_file", set()),
        ("hook=guard.py&outcome=deny", {"rm -rf build"}),
        ("session=s2", {"make test"}),
        ("agent=claude", set()),
        ("since=1d&q=make", {"make test"}),
        ("until=1d", set()),
    ],
)
def test_searches_and_filters(page, query, expected):
    store(event("rm -rf build", outcome="deny"), event("make test", session="s2"))

    found = page.get(f"/search?{query}")

    commands = {"rm -rf build", "make test"}
    rows = text_of(found.partition('class="events"')[2])
    assert {command for command in commands if command in rows} == expected


def test_a_search_for_what_is_no_time_or_session_is_explained(page):
    store(event())

    assert "is not a time" in text_of(page.get("/search?since=soon"))
    assert "has no session" in text_of(page.get("/search?session=unknown"))


def test_hostile_content_is_shown_as_text(page):
    store(
        event(HOSTILE, outcome="deny", reason=HOSTILE, session=HOSTILE, project=HOSTILE),
        event(results=(RecordedResult(hook=HOSTILE, place=HOSTILE, stdout=HOSTILE),), number=1),
    )

    links = links_of(page.get("/sessions"))
    session = next(x for x in links if x.startswith("/session?") and "alert" in x)
    hook = next(x for x in links_of(page.get("/hooks")) if x.startswith("/hook?"))
    for path in ("/", "/sessions", session, "/event/1", "/event/2", "/hooks", hook, "/denials"):
        text = page.get(path)
        assert "alert(1)" in text, path
        assert "<script>alert" not in text, path
        assert "<img src=x" not in text, path
        assert not {"\x1b", "\u202e", "\u200b"} & set(text), path


def length_of_x(page):
    """Return how often `x` occurs in each text of a page."""
    return [text.count("x") for text in re.findall(r">([^<]*)<", page)]


def test_names_of_any_length_do_not_fill_the_lists(page, world, run):
    long = "x" * 10_000
    hook = {"type": "command", "command": "true", "name": long}
    world.settings("user", {"hooks": {"BeforeTool": [{"matcher": long, "hooks": [hook]}]}})
    result = RecordedResult(hook=long, place=f"/p/{long}:1", answer={"outcome": "deny"}, error=long)
    decision = {
        "outcome": "deny",
        "reason": long,
        "blame": {"outcome": [{"hook": long, "place": f"/p/{long}"}]},
        long: True,
    }
    store(event(long, session=long, project=long, tool=long, results=(result,), decision=decision))

    hook = next(x for x in links_of(page.get("/hooks")) if x.startswith("/hook?"))
    for path in ("/", "/sessions", "/search", "/denials", "/hooks", "/problems", hook):
        text = page.get(path).replace(f'<p class="place">/p/{long}:1</p>', "")  # it is scrolled
        assert max(length_of_x(text)) <= 1000, path[:20]
    # Also scrolled: the command, the reason, the project, and the payload.
    assert sum(length > 2100 for length in length_of_x(page.get("/event/1"))) == 4


def test_names_of_sessions_that_look_like_paths_can_be_opened(page):
    names = ["..", "a/../b", "", "x?y=1&z#f", "100%"]
    store(*[event(f"of {name!r}", session=name) for name in names])

    links = [x for x in links_of(page.get("/sessions")) if x.startswith("/session?")]

    assert len(links) == len(names)
    for link in links:
        assert "run_shell_command" in page.get(link) or "before tool" in text_of(page.get(link))


SCRIPT = "/p/hooks/guard.sh"


def results_of(number, **fields):
    """Return events on each of which a hook had such a result."""
    result = RecordedResult(**{"hook": "guard.sh", "place": SCRIPT, "duration": 0.01, **fields})
    return [event(f"c{n}", number=n, results=(result,), decision={}) for n in range(number)]


def test_what_a_shadow_would_have_decided_is_shown_apart_and_bounded(page):
    store(*results_of(25, shadow=True, answer={"outcome": "deny", "reason": "no network"}))

    (link,) = {x for x in links_of(page.get("/hooks")) if x.startswith("/hook?")}
    shown = page.get(link)
    text = text_of(shown)

    assert "as a shadow 25 deny" in text_of(page.get("/hooks"))
    assert "Decisions none Would have decided as a shadow 25 deny" in text
    table = shown.partition("What it would have decided as a shadow")[2]
    assert table.count("no network") == 10
    assert "15 more, among all of its events" in text
    assert "/search?hook=guard.sh" in links_of(shown)


def test_hooks_that_fail_or_warn_stand_out_in_every_list(page):
    stderr = "Traceback (most recent call last):\nRuntimeError: no database"
    store(*results_of(2, status="warned", exit_code=1, stderr=stderr))
    store(*results_of(1, status="timed_out", error="killed after 2 s"))

    for path in ("/", "/search", "/session?agent=gemini&id=s1"):
        rows = text_of(page.get(path).partition('class="events')[2])
        assert rows.count("warning") == 2, path
        assert rows.count("timed out") == 1, path
    assert "1 failed 2 warnings" in text_of(page.get("/hooks"))
    (link,) = {x for x in links_of(page.get("/hooks")) if x.startswith("/hook?")}
    failures = text_of(page.get(link).partition("Latest failures and warnings")[2])
    assert failures.count("exit code 1: RuntimeError: no database") == 2
    assert "killed after 2 s" in failures


def test_the_recorder_is_no_hook_that_did_something(page):
    recorder = RecordedResult(hook="anyhook recorder", place="/r/recorder.py", kind=RECORDER_KIND)
    store(event(), event("make", number=1, results=(recorder,)))

    assert "anyhook recorder" not in page.get("/hooks")
    text = text_of(page.get("/event/2"))
    assert "anyhook recorder" not in text
    assert "No hook ran on this event" in text


def test_the_hooks_of_an_imported_event_are_not_known(page):
    store(event(results=(), decision=None, source="import"))

    text = text_of(page.get("/event/1"))

    assert "not known shell" in text
    assert "Which hooks ran is not known" in text
    assert "No hook ran" not in text


def test_a_hook_is_shown_with_its_counts_and_plots(page):
    outcomes = ["deny", "none", "none", "none"] * 10
    store(*[event(f"c{n}", outcome=one, number=n * 60) for n, one in enumerate(outcomes)])

    (link,) = {x for x in links_of(page.get("/hooks")) if x.startswith("/hook?")}
    shown = page.get(link)

    assert "Runs 40" in text_of(shown)
    assert "10 deny" in text_of(shown)
    assert shown.count('role="img"') == 2
    assert 'aria-label="40 runs: deny, none"' in shown
    assert "style=" not in shown
    # The numbers of the plots are in a table, too.
    table = shown.partition("Numbers of the plots")[2]
    assert sum(int(n) for n in re.findall(r'<td class="num">(\d+)</td><td', table)) >= 40


def test_denials_that_need_a_look_come_first(page):
    allowed = RecordedResult(hook="other.py", place="/p/a.json:2", answer={"outcome": "allow"})
    plain = event("one", outcome="deny", reason="plain", time=NOW - 20 * 86400)
    conflict = event("two", outcome="deny", reason="conflict", time=NOW - 21 * 86400)
    store(
        event("zero", outcome="deny", reason="first", time=NOW - 40 * 86400),
        conflict._replace(results=(*conflict.results, allowed)),
        plain,
        *[event("three", outcome="deny", reason="once more", number=n) for n in range(4)],
    )

    text = text_of(page.get("/denials"))

    assert text.index("conflict") < text.index("once more") < text.index("plain")
    assert "another hook allowed it" in text
    assert "4 times in one session" in text


def test_an_unknown_verdict_is_shown_and_chooses_no_style(page):
    result = RecordedResult(
        hook="guard.py", place=PLACE, answer={"outcome": "hidden"}, status="skip"
    )
    store(event("ls", outcome="hidden", results=(result,)))

    for path in ("/", "/search", "/event/1"):
        text = page.get(path)
        assert "hidden" in text_of(text.partition("<main")[2])
        assert not re.search(r'class="(event|verdict) (hidden|skip)"|<rect class="hidden', text), (
            path
        )


@pytest.mark.parametrize(
    "path",
    [
        "/event/99999999999999999999999",
        "/session?id=%00",
        "/hook?name=%ff&place=%00",
        "/backtests/..%2f..%2fetc",
        "/compare?before=../x&after=/etc/passwd",
        "/static/%2e%2e%2faccess.py",
    ],
)
def test_an_address_of_nothing_is_answered_with_a_page(page, path):
    response = page.client.get(path)

    assert response.status_code == 404
    assert "<h1" in response.text


@pytest.mark.parametrize(
    "query",
    ["q=" + "a%20" * 15_000, "q=%00", "q=%ed%a0%80", "before=" + "9" * 40, "since=1e400"],
)
def test_a_search_for_anything_is_answered(page, query):
    store(event())

    assert "<h1>Search</h1>" in page.get(f"/search?{query}")


@pytest.mark.parametrize("after", ["nan,1", "1e999,1", "--e,1", "1,2,3", ""])
def test_a_place_in_a_session_that_is_none_is_the_start_or_the_end(page, after):
    store(event())

    assert "Session" in page.get(f"/session?id=s1&agent=gemini&after={after}")


def test_problems_of_the_settings_are_shown(page, world):
    world.settings("project", {"hooks": {"BeforeTol": [{"hooks": []}]}})

    text = text_of(page.get("/problems"))

    assert "BeforeTol" in text
    assert "settings.json" in text


def test_a_broken_hook_is_a_problem_though_its_settings_are_not(page, world):
    handler = {"type": "command", "command": "cat"}
    world.settings("user", {"hooks": {"BeforeTool": [{"hooks": [handler]}]}})
    assert "No problems" in page.get("/problems")
    keep(Engine.load(world.project), PROBE, is_good=False, detail="it did not run")

    text = text_of(page.get("/problems"))

    assert "No problems" not in text
    assert "cat, Gemini CLI BeforeTool: probe" in text


def test_a_hook_is_switched_off_and_on(page, world):
    hook = {"type": "command", "command": "true", "name": "guard"}
    world.settings("user", {"hooks": {"BeforeTool": [{"hooks": [hook]}]}})

    response = page.post("/switch", agent="gemini", hook="guard", state="off")
    assert response.status_code == 303
    assert "guard is now off" in text_of(page.get(response.headers["location"]))
    assert json.loads(world.files["user"].read_text())["hooksConfig"]["disabled"] == ["guard"]

    response = page.post("/switch", agent="gemini", hook="guard", state="on")
    assert "guard is now on" in text_of(page.get(response.headers["location"]))


def test_the_recorder_is_one_hook_however_many_events_it_is_on(page, world, run):
    hook = {"type": "command", "command": "true", "name": "guard"}
    world.settings("user", {"hooks": {"BeforeTool": [{"hooks": [hook]}]}})
    assert run("history", "record", "on", "--yes")[0] == 0

    listed = page.get("/hooks").partition("What hooks did")[0]

    assert listed.count('<th scope="row">') == 2
    assert "11 events" in text_of(listed)
    assert "anyhook history record off" in text_of(listed)
    assert listed.count("<button") == 1


def test_a_name_that_looks_like_an_option_switches_nothing(page):
    response = page.post("/switch", agent="gemini", hook="--help", state="off")

    assert "no hook named '--help'" in text_of(page.get(response.headers["location"]))


def test_new_events_are_pushed_with_their_verdict(page):
    with page.client.stream("GET", "/live") as stream:
        lines = stream.iter_lines()
        record("git push", outcome="deny")
        record("ls")
        rows = {}
        for line in lines:
            if line.startswith("data: "):
                update = json.loads(line[6:])
                rows |= {row["id"]: row for row in update["rows"]}
            if len(rows) == 2:
                break

    assert [row["verdict"] for _, row in sorted(rows.items())] == ["deny", "none"]
    assert "git push" in rows[1]["html"]
    assert "1 deny" in text_of(page.get("/"))


def test_a_page_that_comes_back_gets_what_it_missed(page):
    store(*[event(f"old-{n}") for n in range(5)])
    for number in range(200):
        record(f"new-{number}")
    assert_recorded(page, 205)

    with page.client.stream("GET", "/live", headers={"Last-Event-ID": "5"}) as stream:
        numbers, skipped = set(), 0
        # The first update may be of the time before the last events were read.
        for line in stream.iter_lines():
            if line.startswith("data: "):
                update = json.loads(line[6:])
                numbers |= {row["id"] for row in update["rows"] if row["id"] > 5}
                skipped += update["skipped"]
            if 205 in numbers:
                break

    assert max(numbers) == 205
    assert len(numbers) + skipped == 200


def assert_recorded(page, number):
    from tests.waiting import until

    until(lambda: page.client.get(f"/event/{number}").status_code == 200)


def test_the_hooks_of_the_settings_have_their_health(page, world):
    handler = {"type": "command", "command": "sh hooks/missing.sh"}
    world.settings("user", {"hooks": {"BeforeTool": [{"hooks": [handler]}]}})

    text = text_of(page.get("/hooks"))

    assert "missing.sh" in text
    assert "broken" in text

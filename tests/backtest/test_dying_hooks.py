"""Hooks that end their process, at any position among the events."""

from __future__ import annotations

import pytest

from anyhook.backtest import sources
from anyhook.backtest.report import find_changes
from tests.backtest.test_backtest import GUARD, Recorded, before_check, shell
from tests.tables import fast_for

WAYS = {
    "exit": "import os; os._exit(3)",
    "signal": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "stack overflow": "import faulthandler; faulthandler._stack_overflow()",
}
ENDS = {"exit": "exit code 3", "signal": "SIGKILL", "stack overflow": "SIGSEGV"}
"""How the report names them."""
COUNT = 12
BLOCK = 4
POSITIONS = {
    "the first of a block": [3],
    "the last of a block": [6],
    "within a block": [5],
    "the very first and the very last": [0, COUNT - 1],
    "several in one block": [3, 4, 6],
    "several in all blocks": [0, 1, 4, 8, 10],
    "every event": list(range(COUNT)),
}
"""Numbers of events on which a hook ends its process; the first block of four has three events."""


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "PART", BLOCK)
    return Recorded(tmp_path)


def add_events(recorded, deadly):
    commands = ["rm -rf /" if number % 2 else "ls" for number in range(COUNT)]
    for number in deadly:
        commands[number] = f"die {commands[number]}"
    recorded.add(*[shell(n, command, f"s{n % 3}") for n, command in enumerate(commands)])


def run_deadly(recorded, way, **options):
    text = before_check(f"if event.call.command.startswith('die'): {WAYS[way]}")
    return recorded.run(recorded.hook(text, "deadly.py"), **options)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("way", "positions"),
    [
        *[("exit", positions) for positions in POSITIONS],
        ("signal", "several in one block"),
        ("signal", "every event"),
        ("stack overflow", "several in one block"),
    ],
)
def test_a_hook_that_ends_its_process_changes_no_other_event(recorded, way, positions):
    deadly = POSITIONS[positions]
    add_events(recorded, deadly)
    harmless = recorded.run(recorded.hook(GUARD)).result
    refs = {str(number + 1) for number in deadly}
    others = [decided for decided in harmless.decided if decided.ref not in refs]

    run = run_deadly(recorded, way)

    tally = run.result.hooks["guard"]
    ended = [decided for decided in run.result.decided if decided.ref in refs]
    assert [decided for decided in run.result.decided if decided.ref not in refs] == others
    assert {(d.outcome, d.hooks, d.crash) for d in ended} == {
        ("crash", ("guard",), f"ended its process ({ENDS[way]})")
    }
    assert len(ended) == len(deadly) == run.result.outcomes()["crash"]
    assert (run.result.events, run.result.sessions) == (harmless.events, harmless.sessions)
    assert (tally.matched, tally.crashed) == (COUNT, len(deadly))
    assert sum(tally.durations.values()) == COUNT - len(deadly)
    assert sorted(run.result.problems) == sorted(
        f"event {number + 1} of claude/s{number % 3}: guard ended its process ({ENDS[way]})"
        for number in deadly
    )


@pytest.mark.slow
def test_several_processes_name_the_same_crashes(recorded):
    add_events(recorded, [0, 5, 6, 11])

    one = run_deadly(recorded, "exit", jobs=1).result
    two = run_deadly(recorded, "exit", jobs=3).result

    assert list(one.decided) == list(two.decided)
    assert one.problems == sorted(two.problems, key=one.problems.index)


@pytest.mark.slow
def test_an_event_on_which_a_hook_hangs_is_named(recorded):
    recorded.add(shell(0, "hang"), shell(1, "rm -rf /"))
    text = before_check("import time; event.call.command == 'hang' and time.sleep(3600)")

    result = recorded.run(recorded.hook(text), timeout=1).result

    assert result.problems == ["event 1 of claude/s1: guard did not end in time"]
    assert result.outcomes() == {"deny": 1, "crash": 1}
    assert [(decided.text, decided.outcome) for decided in result.decided] == [
        ("hang", "crash"),
        ("rm -rf /", "deny"),
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "outcomes", "crashed"),
    fast_for([(2, {"deny": 1}, 0), (0, {}, 0), (1, {"crash": 1}, 1), (3, {"crash": 1}, 1)]),
)
def test_the_exit_code_of_an_ended_process_counts_as_for_an_agent(
    recorded, code, outcomes, crashed
):
    recorded.add(shell(0, "die"), shell(1, "ls"))
    hook = recorded.hook(
        before_check(f"import os; event.call.command == 'die' and os._exit({code})")
    )

    result = recorded.run(hook).result

    assert result.outcomes() == outcomes
    assert result.hooks["guard"].crashed == crashed
    assert result.problems == [f"event 1 of claude/s1: guard ended its process (exit code {code})"]


@pytest.mark.slow
def test_a_hook_that_begins_to_end_its_process_changes_decisions(recorded):
    recorded.add(shell(0, "die"), shell(1, "rm -rf /"))
    before = recorded.run(recorded.hook(GUARD)).result

    after = run_deadly(recorded, "exit").result

    (change,) = find_changes(before, after)
    assert (change.event.text, change.outcomes, change.fields) == (
        "die",
        ("none", "crash"),
        ("crash",),
    )

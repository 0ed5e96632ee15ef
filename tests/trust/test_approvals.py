"""A denied call that the user allows runs once, and nothing else weakens a denial."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from anyhook.agents import AGENTS, CODING_AGENTS, get_agent
from anyhook.history.record_switch import RecordingSwitch, write_switch
from anyhook.journal.lines import history_directory
from anyhook.model.answers import Outcome
from anyhook.testing import make_payload
from anyhook.trust.approvals import (
    MAX_KEPT,
    MAX_PENDING,
    VALID_SECONDS,
    Approvals,
    DeniedCall,
    call_digest,
    new_id,
)
from tests.answering import answer
from tests.waiting import until
from tests.warm import Warm
from tests.worker.test_denials import understood

GUARD = """
@hooks.before_tool("shell")
def guard(event):
    return deny("not here") if "rm" in event.call.command else None
"""
QUESTION = "\0"  # `anyhook allow` asks nothing


@pytest.fixture
def agent_side(tmp_path):
    """Hook files, and the agent that starts them."""
    side = Warm(tmp_path)
    del side.env["ANYHOOK_ALLOW"]
    yield side
    side.close()


@pytest.fixture
def guard(agent_side):
    return agent_side.hook(GUARD, "guard.py")


def call(command="rm x", *, agent="claude", cwd=None, **others):
    payload = make_payload("before_tool", agent=agent, tool="shell", input={"command": command})
    return payload | ({} if cwd is None else {"cwd": str(cwd)}) | others


def decide(side, guard, payload=None, *, agent="claude", **options):
    """Return the outcome that the agent reads, and the whole output of the hook."""
    end = side.cold(guard, "--agent", agent, payload=payload or call(agent=agent), **options)
    return understood(agent, end).outcome, end


def denied_id(side):
    # A warm hook keeps the call after it has answered.
    until(lambda: Approvals(side.env).pending())
    return Approvals(side.env).pending()[0].id


def allow(side, *words):
    return answer(("allow", *words), b"", question=QUESTION, cwd=side.root, environ=side.env)


@pytest.mark.slow
def test_an_allowed_call_runs_once(agent_side, guard):
    first, _ = decide(agent_side, guard)

    code, shown = allow(agent_side, denied_id(agent_side))
    outcomes = [decide(agent_side, guard)[0] for _ in range(2)]

    assert first is Outcome.DENY
    assert code == 0, shown
    assert "rm x" in shown
    assert outcomes == [Outcome.NONE, Outcome.DENY]


@pytest.mark.slow
def test_a_warm_hook_follows_the_approval_too(agent_side, guard):
    agent_side.warm(guard, "--agent", "claude", payload=call())
    allow(agent_side, denied_id(agent_side))

    ends = [agent_side.warm(guard, "--agent", "claude", payload=call()) for _ in range(2)]

    outcomes = [understood("claude", end).outcome for end in ends]
    assert outcomes == [Outcome.NONE, Outcome.DENY]


@pytest.mark.parametrize("agent", CODING_AGENTS)
def test_the_id_is_shown_to_the_user_and_not_to_the_model(agent_side, guard, agent):
    _, (_, out, err) = decide(agent_side, guard, agent=agent)

    chosen = denied_id(agent_side)
    reply = json.loads(out)
    spec = get_agent(agent)
    reason = understood(agent, (0, out, "")).reason
    observed = (spec.rule_sets.get("observed") or spec.documented).by_canonical["before_tool"]
    can_show = "system_message" in observed.effective_fields
    assert chosen not in reason
    assert (chosen in json.dumps(reply)) is can_show
    assert chosen not in err


VARIATIONS = {
    "another argument": lambda side: call("rm  x"),
    "a further argument": lambda side: call() | {"tool_input": {"command": "rm x", "timeout": 5}},
    "another directory": lambda side: call(cwd=side.root / "elsewhere"),
    "another type": lambda side: call() | {"tool_input": {"command": "rm x", "run": 1}},
}


@pytest.mark.slow
@pytest.mark.parametrize("variation", VARIATIONS)
def test_another_call_is_still_denied(agent_side, guard, variation):
    decide(agent_side, guard)
    allow(agent_side, denied_id(agent_side))

    other, _ = decide(agent_side, guard, VARIATIONS[variation](agent_side))
    same, _ = decide(agent_side, guard)

    assert (other, same) == (Outcome.DENY, Outcome.NONE)


@pytest.mark.slow
def test_another_project_and_another_hook_file_still_deny(agent_side, guard):
    decide(agent_side, guard, env={"CLAUDE_PROJECT_DIR": "/a"})
    allow(agent_side, denied_id(agent_side))
    other_guard = agent_side.hook(GUARD, "other.py")

    in_other, _ = decide(agent_side, guard, env={"CLAUDE_PROJECT_DIR": "/b"})
    by_other, _ = decide(agent_side, other_guard, env={"CLAUDE_PROJECT_DIR": "/a"})
    same, _ = decide(agent_side, guard, env={"CLAUDE_PROJECT_DIR": "/a"})

    assert (in_other, by_other, same) == (Outcome.DENY, Outcome.DENY, Outcome.NONE)


@pytest.mark.slow
def test_of_two_calls_at_once_one_runs(agent_side, guard):
    decide(agent_side, guard)
    allow(agent_side, denied_id(agent_side))

    with ThreadPoolExecutor(4) as threads:
        outcomes = list(threads.map(lambda _: decide(agent_side, guard)[0], range(4)))

    assert sorted(outcomes) == sorted([Outcome.NONE, *[Outcome.DENY] * 3])


def granted_file(side):
    (path,) = (Path(side.env["ANYHOOK_DATA_DIR"]) / "approvals" / "granted").iterdir()
    return path


CLOCKS = {
    "ten minutes later": {"granted": -VALID_SECONDS - 1, "uptime": -VALID_SECONDS - 1},
    "the clock was set back": {"granted": 60, "uptime": 0},
    "the clock was set back by what passed": {"granted": 0, "uptime": -VALID_SECONDS - 1},
    "the system was started again": {"granted": 0, "uptime": 1_000_000},
}


@pytest.mark.slow
@pytest.mark.parametrize("change", CLOCKS)
def test_an_approval_ends_whatever_happens_to_the_clock(agent_side, guard, change):
    decide(agent_side, guard)
    allow(agent_side, denied_id(agent_side))
    path = granted_file(agent_side)
    content = json.loads(path.read_text())
    path.write_text(
        json.dumps(content | {name: content[name] + by for name, by in CLOCKS[change].items()})
    )

    outcome, _ = decide(agent_side, guard)

    assert outcome is Outcome.DENY
    assert Approvals(agent_side.env).granted() == []


@pytest.mark.slow
def test_an_approval_that_is_put_back_is_not_used_again(agent_side, guard, tmp_path):
    decide(agent_side, guard)
    allow(agent_side, denied_id(agent_side))
    path = granted_file(agent_side)
    shutil.copy(path, tmp_path / "copy")
    decide(agent_side, guard)
    shutil.copy(tmp_path / "copy", path)

    outcome, _ = decide(agent_side, guard)

    assert outcome is Outcome.DENY


@pytest.mark.slow
def test_an_approval_under_the_name_of_another_call_is_not_used(agent_side, guard):
    decide(agent_side, guard, call("rm x"))
    allow(agent_side, denied_id(agent_side))
    decide(agent_side, guard, call("rm -rf /"))
    other = next(c for c in Approvals(agent_side.env).pending() if "-rf" in c.arguments)
    granted_file(agent_side).rename(granted_file(agent_side).with_name(f"{other.digest}.json"))

    outcome, _ = decide(agent_side, guard, call("rm -rf /"))

    assert outcome is Outcome.DENY


@pytest.mark.slow
@pytest.mark.parametrize(
    "content", ["", "{", "[]", "{}", '{"call": 1}', '{"call": {}, "nonce": "../../x"}', "null"]
)
def test_nonsense_in_place_of_an_approval_denies(agent_side, guard, content):
    decide(agent_side, guard)
    allow(agent_side, denied_id(agent_side))
    granted_file(agent_side).write_text(content)

    outcome, _ = decide(agent_side, guard)

    assert outcome is Outcome.DENY


def test_a_directory_that_cannot_be_written_leaves_the_denial(agent_side, guard):
    (agent_side.root / "file").write_text("")

    outcome, (_, out, err) = decide(
        agent_side, guard, env={"ANYHOOK_DATA_DIR": str(agent_side.root / "file")}
    )

    assert outcome is Outcome.DENY
    assert "Traceback" not in err
    assert "anyhook allow" not in out


def test_without_a_terminal_nothing_is_allowed(agent_side, guard, run, monkeypatch):
    decide(agent_side, guard)
    monkeypatch.setenv("ANYHOOK_DATA_DIR", agent_side.env["ANYHOOK_DATA_DIR"])

    code, _, err = run("allow", denied_id(agent_side))

    assert code == 64
    assert "terminal" in err
    assert Approvals(agent_side.env).granted() == []


@pytest.mark.parametrize("agent", CODING_AGENTS)
def test_a_process_that_an_agent_has_started_allows_nothing(
    agent_side, guard, agent, run, monkeypatch
):
    decide(agent_side, guard)
    monkeypatch.setenv("ANYHOOK_DATA_DIR", agent_side.env["ANYHOOK_DATA_DIR"])
    entry = AGENTS[agent]

    for variable in (*entry.variables, *entry.child_variables):
        with monkeypatch.context() as patch:
            patch.setenv(variable, "1")
            code, _, err = run("allow", denied_id(agent_side))
        assert (code, "only you" in err) == (1, True), err
    assert Approvals(agent_side.env).granted() == []


@pytest.mark.slow
def test_an_unknown_id_says_where_the_ids_are(agent_side):
    code, shown = allow(agent_side, "K3F9QX")

    assert code == 64
    assert "anyhook allow --list" in shown


@pytest.mark.slow
def test_an_approval_can_be_taken_back(agent_side, guard):
    decide(agent_side, guard)
    chosen = denied_id(agent_side)
    allow(agent_side, chosen)

    code, _ = allow(agent_side, chosen.lower(), "--revoke")

    assert code == 0
    assert decide(agent_side, guard)[0] is Outcome.DENY


@pytest.mark.slow
def test_the_list_shows_what_was_denied_allowed_and_used(agent_side, guard):
    for command in ("rm one", "rm two", "rm three"):
        decide(agent_side, guard, call(command))
    by_command = {c.arguments: c.id for c in Approvals(agent_side.env).pending()}
    for command in ("rm two", "rm three"):
        allow(agent_side, by_command[f'{{"command": "{command}"}}'])
    decide(agent_side, guard, call("rm three"))

    code, shown = allow(agent_side, "--list")
    _, as_json = allow(agent_side, "--list", "--json")

    rows = [line for line in shown.splitlines() if "rm " in line]
    states = [next(word for word in ("once", "denied", "ran") if word in row) for row in rows]
    assert code == 0
    assert states == ["once", "denied", "ran"]
    lists = json.loads(as_json)
    assert [len(lists[name]) for name in ("denied", "allowed", "used")] == [1, 1, 1]


def test_no_secret_is_kept(agent_side, guard):
    secret = "AKIA" + "IOSFODNN7EXAMPLF"
    decide(agent_side, guard, call(f"rm x; export AWS_ACCESS_KEY_ID={secret}"))

    directory = Path(agent_side.env["ANYHOOK_DATA_DIR"]) / "approvals"
    texts = [path.read_text() for path in directory.rglob("*.json")]
    assert texts
    assert not any(secret in text for text in texts)


@pytest.mark.slow
def test_a_rehearsal_leaves_nothing_and_uses_nothing(agent_side, guard, world, run):
    agent_side.env["ANYHOOK_DATA_DIR"] = os.environ["ANYHOOK_DATA_DIR"]
    shutil.copy(guard, world.project / "guard.py")
    words = ("--agent", "claude", "--yes", "--python", sys.executable)
    assert run("add", "guard.py", *words)[0] == 0

    fired = ("--tool", "Bash", "--input", '{"command": "rm x"}', "--agent", "claude")
    _, out, err = run("fire", "PreToolUse", *fired, "--json", "--trust-once")

    assert json.loads(out)["decision"]["outcome"] == "deny", err
    assert Approvals().pending() == []


@pytest.mark.slow
def test_the_use_is_in_the_history(agent_side, guard, run, monkeypatch):
    monkeypatch.setenv("ANYHOOK_DATA_DIR", agent_side.env["ANYHOOK_DATA_DIR"])
    write_switch(RecordingSwitch(), history_directory(agent_side.env))
    decide(agent_side, guard)
    chosen = denied_id(agent_side)
    allow(agent_side, chosen)
    decide(agent_side, guard)

    assert run("history", "stats")[0] == 0  # takes the journal into the store
    store = Path(agent_side.env["ANYHOOK_DATA_DIR"]) / "history" / "history.sqlite"
    with closing(sqlite3.connect(store)) as connection:
        notes = [row[0] for row in connection.execute("SELECT stderr FROM results ORDER BY rowid")]
    assert [chosen in (note or "") for note in notes] == [False, True]
    assert "/dev/" in notes[1]


@pytest.mark.slow
def test_equal_denials_are_equal_in_the_history(agent_side, guard, run, monkeypatch):
    """Each has another ID, and nothing that compares decisions may see a difference."""
    monkeypatch.setenv("ANYHOOK_DATA_DIR", agent_side.env["ANYHOOK_DATA_DIR"])
    write_switch(RecordingSwitch(), history_directory(agent_side.env))
    for _ in range(2):
        decide(agent_side, guard)

    assert run("history", "stats")[0] == 0  # takes the journal into the store
    store = Path(agent_side.env["ANYHOOK_DATA_DIR"]) / "history" / "history.sqlite"
    with closing(sqlite3.connect(store)) as connection:
        first, second = connection.execute("SELECT answer FROM results")
    assert "not here" in first[0]
    assert first == second


def denied_call(call_id, digest="0"):
    texts = dict.fromkeys(("hook", "tool", "cwd", "project", "arguments", "reason"), "x")
    return DeniedCall(id=call_id, digest=digest, agent="claude", time=time.time(), **texts)


@pytest.mark.slow
def test_of_many_denials_the_oldest_are_dropped_and_each_call_is_listed_once(tmp_path):
    approvals = Approvals({"ANYHOOK_DATA_DIR": str(tmp_path)})

    for _ in range(MAX_PENDING + 5):
        approvals.keep(denied_call(new_id()))

    assert len(approvals.pending()) == MAX_PENDING
    assert len(approvals.waiting()) == 1


@pytest.mark.slow
def test_files_of_denials_do_not_pile_up(tmp_path):
    approvals = Approvals({"ANYHOOK_DATA_DIR": str(tmp_path)})

    counts = []
    for _ in range(MAX_KEPT + 5):
        approvals.keep(denied_call(new_id()))
        counts.append(len(list((tmp_path / "approvals" / "pending").iterdir())))

    assert max(counts) == MAX_KEPT
    assert len(approvals.pending()) == MAX_PENDING


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.slow
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.text(), JSON, max_size=3), st.dictionaries(st.text(), JSON, max_size=3))
def test_two_calls_have_one_digest_only_if_they_are_equal(first, second):
    digests = [
        call_digest("guard.py", "claude", "Bash", arguments, cwd="/", project="/")
        for arguments in (first, second)
    ]

    are_equal = json.dumps(first, sort_keys=True) == json.dumps(second, sort_keys=True)
    assert (digests[0] == digests[1]) is are_equal

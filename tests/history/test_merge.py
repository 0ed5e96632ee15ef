"""Events that several hooks, or hooks and transcripts, have recorded are stored once."""

from __future__ import annotations

import json

import pytest

from anyhook.history.filters import Filter
from anyhook.history.imports import find_transcripts, import_transcripts
from anyhook.history.ingest import ingest
from anyhook.history.search import search
from anyhook.history.store import History
from anyhook.journal import lines as journal
from anyhook.testing import make_payload
from tests.history.test_faults import NOW, event, record
from tests.work import count_calls, growth


def append(directory, *hooks, time=NOW, command="ls"):
    for hook in hooks:
        results = [{"hook": hook, "answer": {"outcome": "allow"}}]
        journal.append(
            str(directory), record(command, source="hook", time=time, results=results, decision={})
        )


def results_of(history):
    rows = history.connection.execute(
        "SELECT event_id, group_concat(label, ' ') FROM"
        " (SELECT event_id, label FROM results JOIN hooks ON hooks.id = hook_id ORDER BY label)"
        " GROUP BY 1 ORDER BY 1"
    )
    return [labels for _, labels in rows]


@pytest.mark.parametrize("is_stored_between", [False, True])
def test_parallel_calls_with_equal_input_stay_as_many_as_they_were(tmp_path, is_stored_between):
    with History.open(tmp_path) as history:
        for hook in ("a", "b", "c"):
            append(tmp_path, hook, time=NOW)
            append(tmp_path, hook, time=NOW + 1)
            if is_stored_between:
                ingest(history)
        ingest(history)
        assert results_of(history) == ["a b c", "a b c"]


@pytest.mark.parametrize("place", ["/p/a", "/lat\udce9n/a", "/\ud83d"])
def test_equal_events_are_as_many_whatever_the_path_of_their_hook(tmp_path, place):
    """SQLite holds another text for a path that is not UTF-8."""
    version = {"file": place, "digest": "0" * 32}
    results = [{"hook": "a", "place": place, "version": version, "answer": {"outcome": "allow"}}]
    with History.open(tmp_path) as history:
        for delay in range(3):
            line = record("ls", source="hook", time=NOW + delay, results=results, decision={})
            journal.append(str(tmp_path), line)
            ingest(history)
        assert results_of(history) == ["a", "a", "a"]


def decision_of(directory, *answers, name="before_tool", is_stored_between):
    """Return the stored decision on an event that hooks answered."""
    with History.open(directory) as history:
        for number, answer in enumerate(answers):
            results = [{"hook": str(number), "answer": answer}]
            line = record("ls", source="hook", results=results, decision=answer)
            journal.append(str(directory), {**line, "event": name})
            if is_stored_between:
                ingest(history)
        ingest(history)
        (stored,) = search(history, Filter())
        return stored.decision


@pytest.mark.parametrize("is_stored_between", [False, True])
@pytest.mark.parametrize(
    ("answers", "decision"),
    [
        (
            [
                {"outcome": "deny", "reason": "A", "context": ["a"]},
                {"outcome": "deny", "reason": "B", "context": ["b"]},
            ],
            {"outcome": "deny", "reason": "A\nB", "context": ["a", "b"]},
        ),
        (
            [{"outcome": "allow", "approve": True, "reason": "A"}, {"outcome": "ask"}],
            {"outcome": "ask"},
        ),
        (
            [{"outcome": "allow", "reason": "A"}, {"stop": True, "stop_reason": "enough"}],
            {"outcome": "allow", "reason": "A", "stop": True, "stop_reason": "enough"},
        ),
        (
            [{"tool_input": {"command": "a"}}, {"tool_input": {"timeout": 5}}],
            {"tool_input": {"command": "a", "timeout": 5}},
        ),
        (
            [{"system_messages": ["a"]}, {}, {"system_messages": ["b"]}],
            {"system_messages": ["a", "b"]},
        ),
    ],
)
def test_answers_are_combined_as_those_of_one_hook_file(
    tmp_path, answers, decision, is_stored_between
):
    assert decision_of(tmp_path, *answers, is_stored_between=is_stored_between) == decision


@pytest.mark.parametrize(
    "damaged",
    [
        {"reason": 5, "context": "text", "system_messages": [None], "stop": "yes"},
        {"outcome": "postpone", "tool_input": [1], "extra": None},
        {"llm_request": {"messages": [5]}, "tool_config": {"mode": "SOME"}},
        {"llm_response": {"candidates": [None]}},
    ],
)
def test_an_answer_with_wrong_types_is_combined_without_them(tmp_path, damaged):
    denial = {"outcome": "deny", "reason": "A"}
    request = {"llm_request": {"model": "m"}, "tool_config": {"mode": "ANY"}}

    decision = decision_of(tmp_path, {**request, **denial}, damaged, is_stored_between=True)

    assert (decision["outcome"], decision["reason"]) == ("deny", "A")
    assert not decision.keys() & {"context", "system_messages", "stop", "tool_input", "extra"}


def test_changes_of_a_response_are_laid_over_each_other(tmp_path):
    answers = [{"llm_response": {"text": "a"}}, {"llm_response": {"usageMetadata": {}}}]

    decision = decision_of(tmp_path, *answers, name="after_model", is_stored_between=True)

    assert decision["llm_response"]["text"] == "a"


GREP_RM, GREP_SUDO = "grep -q 'rm -rf' && exit 2; exit 0", "grep -q sudo && exit 2; exit 0"


def append_tapped(directory, command, time=NOW, duration=0.01, call=None, cwd="/p"):
    """Append a run of a tapped command: on a call of Claude Code, or of Gemini CLI without one."""
    agent = "claude" if call else "gemini"
    payload = make_payload("before_tool", agent=agent, tool="shell", input={"command": "ls"})
    payload |= {"tool_use_id": call} if call else {"timestamp": "2026-09-21T12:00:00.000Z"}
    tap = {"command": [command], "cwd": cwd, "duration": duration, "truncated": False}
    tap |= {"stdout": "", "stderr": "", "exit_code": 0}
    line = {"agent": agent, "time": time, "event": "", "session": "", "source": "tap"}
    journal.append(str(directory), {**line, "project": cwd, "payload": payload, "tap": tap})


@pytest.mark.parametrize("is_stored_between", [False, True])
@pytest.mark.parametrize("call", [None, "toolu_1"])
@pytest.mark.parametrize("delay", [0.001, 0.5])
def test_commands_of_one_name_answer_one_event(tmp_path, is_stored_between, call, delay):
    with History.open(tmp_path) as history:
        for number, command in enumerate((GREP_RM, GREP_SUDO, "nosuchguard --strict")):
            append_tapped(tmp_path, command, NOW + number * delay, call=call)
            if is_stored_between:
                ingest(history)
        ingest(history)
        assert results_of(history) == ["grep grep nosuchguard"]
        starts = history.connection.execute("SELECT started FROM results ORDER BY rowid").fetchall()
        assert [start for (start,) in starts] == pytest.approx([0, delay, 2 * delay], abs=1e-5)


@pytest.mark.parametrize("is_stored_between", [False, True])
def test_scripts_of_one_name_answer_one_event(tmp_path, is_stored_between):
    scripts = [tmp_path / place / ".claude" / "hooks" / "check.sh" for place in ("home", "project")]
    with History.open(tmp_path) as history:
        for script in scripts:
            script.parent.mkdir(parents=True)
            script.write_text("#!/bin/sh\n")
            append_tapped(tmp_path, str(script), call="toolu_1", cwd=str(tmp_path))
            if is_stored_between:
                ingest(history)
        ingest(history)
        assert results_of(history) == ["check.sh check.sh"]


@pytest.mark.parametrize("is_stored_between", [False, True])
@pytest.mark.parametrize("call", [None, "toolu_1"])
def test_an_event_that_is_sent_again_to_commands_of_one_name_is_another(
    tmp_path, is_stored_between, call
):
    with History.open(tmp_path) as history:
        for time in (NOW, NOW + 1):
            for command in (GREP_RM, GREP_SUDO):
                append_tapped(tmp_path, command, time, call=call)
                if is_stored_between:
                    ingest(history)
        ingest(history)
        assert results_of(history) == ["grep grep", "grep grep"]


@pytest.mark.parametrize("is_stored_between", [False, True])
def test_an_equal_event_after_a_command_was_edited_is_another(tmp_path, is_stored_between):
    with History.open(tmp_path) as history:
        for time, command in ((NOW, GREP_RM), (NOW + 60, GREP_SUDO)):
            append_tapped(tmp_path, command, time)
            if is_stored_between:
                ingest(history)
        ingest(history)
        assert results_of(history) == ["grep", "grep"]


def test_a_slow_command_and_the_next_one_of_its_name_answer_one_event(tmp_path):
    with History.open(tmp_path) as history:
        append_tapped(tmp_path, GREP_RM, NOW, duration=60)
        append_tapped(tmp_path, GREP_SUDO, NOW + 60.01)
        ingest(history)
        assert results_of(history) == ["grep grep"]


@pytest.mark.parametrize(("agent", "member"), [("claude", "tool_use_id"), ("opencode", "callID")])
def test_hooks_that_answer_a_call_one_minute_apart_answer_one_event(tmp_path, agent, member):
    payload = make_payload("before_tool", agent=agent, tool="shell", input={"command": "ls"})
    payload[member] = "call_1"
    with History.open(tmp_path) as history:
        for delay, file in ((0, "/home/guard.py"), (60, "/project/guard.py")):
            result = {"hook": "guard.py", "version": {"file": file}, "duration": 0.01}
            line = record(time=NOW + delay, source="hook", payload=payload, results=[result])
            journal.append(str(tmp_path), {**line, "agent": agent, "event": "before_tool"})
        ingest(history)
        assert results_of(history) == ["guard.py guard.py"]


def test_the_events_of_a_long_session_are_found_by_their_time(tmp_path):
    with History.open(tmp_path) as history:
        history.add(event(number) for number in range(3))
        statements = []
        history.connection.set_trace_callback(statements.append)
        append(tmp_path, "a")
        ingest(history)
        history.connection.set_trace_callback(None)
        (query,) = [text for text in statements if "identity =" in text]
        plan = history.connection.execute(f"EXPLAIN QUERY PLAN {query}").fetchall()
        assert "session_id=? AND time>? AND time<?" in str(plan)


def test_a_session_that_another_process_removed_is_added_again(tmp_path):
    with History.open(tmp_path) as first, History.open(tmp_path) as second:
        first.add([event(1)])
        second.prune(days=1, size=0, now=NOW + 1e9)
        second.add([event(1, session="another")])
        first.add([event(2)])
        rows = first.connection.execute("SELECT session, events FROM sessions ORDER BY session")
        assert rows.fetchall() == [("another", 1), ("s1", 1)]


def test_a_prompt_with_a_secret_that_was_recorded_live_is_not_imported_again(tmp_path):
    file = tmp_path / "home" / ".claude" / "projects" / "-p" / "s1.jsonl"
    file.parent.mkdir(parents=True)
    prompt = "use password=hunter2-long for half \ud83d"
    line = {"type": "user", "uuid": "u1", "sessionId": "s1", "cwd": "/p", "isSidechain": False}
    line |= {"version": "2.1.330", "timestamp": "2026-09-21T12:00:00.000Z", "userType": "external"}
    line |= {"message": {"role": "user", "content": prompt}}
    file.write_text(f"{json.dumps(line)}\n", "utf-8")
    payload = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": prompt}
    live = {"agent": "claude", "event": "before_prompt", "session": "s1", "time": NOW}
    journal.append(str(tmp_path), {**live, "project": "/p", "source": "hook", "payload": payload})

    with History.open(tmp_path) as history:
        ingest(history)
        done = import_transcripts(history, find_transcripts(tmp_path / "home", {}, ["claude"]))
        assert done.known == 1
        rows = history.connection.execute("SELECT source FROM events WHERE event = 'before_prompt'")
        assert rows.fetchall() == [("hook",)]


@pytest.mark.slow
@pytest.mark.parametrize("hooks", [("a",), ("a", "b")])
def test_the_work_grows_with_the_number_of_equal_payloads(tmp_path, hooks):
    def work_for(count):
        with History.open(tmp_path / str(count)) as history:
            for hook in hooks:
                for number in range(count):
                    append(tmp_path / str(count), hook, time=NOW + number)
            calls = count_calls(lambda: ingest(history))
            assert results_of(history) == [" ".join(hooks)] * count
        return calls

    assert growth(work_for) < 2.6


@pytest.mark.slow
def test_the_work_grows_with_the_number_of_versions_of_a_hook(tmp_path):
    def work_for(count):
        with History.open(tmp_path / str(count)) as history:
            for number in range(2 * count):
                command = GREP_RM if number < count else GREP_SUDO
                append_tapped(tmp_path / str(count), command, NOW + number)
            return count_calls(lambda: ingest(history))

    assert growth(work_for) < 2.6

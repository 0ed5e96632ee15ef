"""Hook files on recorded events: counts, crashes, hangs, dead processes and kept results."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from anyhook.backtest import sources
from anyhook.backtest.evaluation import baseline_of
from anyhook.backtest.item_table import ItemTable
from anyhook.backtest.report import find_changes, group_changes, new_denials, report_json
from anyhook.backtest.results import Decided, Result
from anyhook.backtest.run import BacktestProgress, BacktestRun, run_backtest
from anyhook.backtest.sources import parts_of_history
from anyhook.backtest.subjects import BacktestSubject
from anyhook.errors import UsageError
from anyhook.history.events import RecordedEvent
from anyhook.history.filters import Filter
from anyhook.history.store import History
from anyhook.testing import make_payload
from tests.leftovers import MARK, marked
from tests.tables import fast_for
from tests.waiting import until

GUARD = """
from anyhook.authoring import Hooks, deny
hooks = Hooks()

@hooks.before_tool("shell")
def guard(event):
    if "rm -rf" in event.call.command:
        return deny("no")
"""


EVERYTHING = Filter()


def before_check(statement):
    """Return the guard with a statement before what it checks."""
    return GUARD.replace("    if", f"    {statement}\n    if")


def shell(number, command, session="s1", agent="claude", **fields):
    payload = make_payload(
        "before_tool", agent=agent, tool="shell", input={"command": command}, **fields
    )
    payload["session_id"] = session
    return RecordedEvent(
        agent, session, "before_tool", 1_700_000_000.0 + number, payload, "import", tool="shell"
    )


class Recorded:
    """A history and a hook file."""

    def __init__(self, root):
        self.root = root
        self.directory = str(root / "history")

    def add(self, *events):
        with History.open(self.directory) as history:
            history.add(events)

    def hook(self, text, name="guard.py"):
        path = self.root / name
        path.write_text(text)
        return BacktestSubject(str(path), name)

    def run(self, subject, selection=EVERYTHING, *, parts=None, **options):
        parts = parts or list(parts_of_history(self.directory, selection))
        options.setdefault("jobs", 1)
        return run_backtest(subject, parts, **options)


@pytest.fixture
def recorded(tmp_path):
    return Recorded(tmp_path)


@pytest.mark.slow
def test_it_counts_what_a_hook_decides(recorded):
    recorded.add(shell(1, "ls"), shell(2, "rm -rf /", "s2"), shell(3, "rm -rf ."))

    result = recorded.run(recorded.hook(GUARD)).result

    tally = result.hooks["guard"]
    assert (result.total, result.events["before_tool"]) == (3, 3)
    assert (tally.matched, dict(tally.outcomes)) == (3, {"none": 1, "deny": 2})
    assert result.sessions == {"claude/s1", "claude/s2"}
    assert result.sessions_with("deny") == 2
    assert [(d.text, d.hooks, d.decision["reason"]) for d in result.decided] == [
        ("rm -rf /", ("guard",), "no"),
        ("rm -rf .", ("guard",), "no"),
    ]
    assert tally.percentile(0.5) < 1


@pytest.mark.slow
def test_an_event_of_another_tool_is_seen_and_not_matched(recorded):
    payload = make_payload("before_tool", agent="claude", tool="read_file", input={})
    event = RecordedEvent("claude", "s", "before_tool", 1.0, payload, "import", tool="read_file")
    recorded.add(event, shell(2, "rm -rf /"))

    result = recorded.run(recorded.hook(GUARD)).result

    assert (result.total, result.hooks["guard"].matched) == (2, 1)


@pytest.mark.slow
def test_a_function_that_raises_is_a_crash(recorded):
    recorded.add(shell(1, "ls"))
    crash = GUARD.replace('if "rm -rf" in', "if 1 / 0 in").replace(
        "Hooks()", "Hooks(on_crash='deny')"
    )

    result = recorded.run(recorded.hook(crash)).result

    assert (result.hooks["guard"].crashed, result.outcomes()) == (1, {"deny": 1})


@pytest.mark.slow
def test_a_hook_that_ends_the_process_is_a_crash_on_that_event_only(recorded):
    recorded.add(shell(1, "ls"), shell(2, "die"), shell(3, "rm -rf /"))
    deadly = before_check("import os; event.call.command == 'die' and os._exit(3)")

    result = recorded.run(recorded.hook(deadly)).result

    tally = result.hooks["guard"]
    assert (tally.matched, tally.crashed, dict(tally.outcomes)) == (
        3,
        1,
        {"none": 1, "crash": 1, "deny": 1},
    )
    report = report_json(BacktestRun(recorded.hook(deadly), result, BacktestProgress(1)), None)
    assert report["outcomes"]["crash"]["events"] == 1
    assert [one["outcome"] for one in report["decided"]] == ["crash", "deny"]


@pytest.mark.slow
def test_a_hook_file_that_ends_the_process_while_it_is_loaded_is_an_error(recorded):
    recorded.add(shell(1, "ls"))

    with pytest.raises(UsageError, match="ends its process while it is loaded"):
        recorded.run(recorded.hook(GUARD + "\nimport os; os._exit(3)\n"))


@pytest.mark.slow
def test_a_hook_that_hangs_is_ended(recorded):
    recorded.add(shell(1, "ls"), shell(2, "hang"), shell(3, "rm -rf /"))
    slow = before_check("import time; event.call.command == 'hang' and time.sleep(3600)")

    result = recorded.run(recorded.hook(slow), timeout=0.5).result

    tally = result.hooks["guard"]
    assert (tally.matched, tally.timed_out, tally.outcomes["deny"]) == (3, 1, 1)


@pytest.mark.slow
def test_what_a_hook_prints_is_not_shown(recorded, capfd):
    recorded.add(shell(1, "ls"))

    recorded.run(recorded.hook(before_check("print('hello')")))

    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_a_killed_process_changes_nothing(recorded):
    recorded.add(*[shell(n, "rm -rf /" if n % 2 else "ls") for n in range(300)])
    slow = before_check("import time; time.sleep(0.005)")
    killed = []

    def kill():
        child = until(lambda: _children(os.getpid()))[0]
        # Its sandbox, the first process in that, a run, and a session that is being decided.
        until(lambda: _generations(child) >= 4)
        os.kill(child, signal.SIGKILL)
        killed.append(child)

    thread = threading.Thread(target=kill)
    thread.start()
    result = recorded.run(recorded.hook(slow)).result
    thread.join()

    assert killed
    assert (result.hooks["guard"].matched, result.outcomes()) == (300, {"deny": 150})
    assert result.hooks["guard"].crashed == 0


PARENT = """
import sys
from anyhook.backtest.run import run_backtest
from anyhook.backtest.sources import parts_of_history
from anyhook.history.filters import Filter
from anyhook.backtest.subjects import BacktestSubject
if __name__ == "__main__":
    parts = list(parts_of_history(sys.argv[1], Filter()))
    run_backtest(BacktestSubject(sys.argv[2], "guard"), parts, jobs=1)
"""


@pytest.mark.slow
@pytest.mark.parametrize("hang", ["while True: pass", "os.fork(); os.setsid(); time.sleep(60)"])
def test_no_process_is_left_behind_when_the_run_is_killed(recorded, tmp_path, hang):
    recorded.add(shell(1, "ls"))
    subject = recorded.hook(before_check(f"import os, sys, time; sys.argv[0] = 'hook'; {hang}"))
    (tmp_path / "parent.py").write_text(PARENT)
    command = [sys.executable, tmp_path / "parent.py", recorded.directory, subject.path]
    mark = str(tmp_path)
    with subprocess.Popen(command, env={**os.environ, MARK: mark}) as parent:
        # The command, the process that reads, the two of the sandbox, and that with the hook.
        until(lambda: len(marked(mark)) >= 5)

        parent.kill()

    until(lambda: not marked(mark), "processes are left")


def _children(pid):
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in children if "spawn_main" in _command_line(child)]


def _generations(pid):
    """Return how many generations of processes are below one."""
    threads = Path(f"/proc/{pid}/task").glob("*/children")
    try:
        children = [int(child) for file in threads for child in file.read_text().split()]
    except OSError:  # it has ended meanwhile
        children = []
    return 1 + max(map(_generations, children)) if children else 0


def _command_line(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:  # it has ended meanwhile
        return ""


@pytest.mark.slow
def test_several_processes_give_the_same_result(recorded):
    recorded.add(*[shell(n, "rm -rf /" if n % 3 else "ls", f"s{n % 7}") for n in range(9000)])
    subject = recorded.hook(GUARD)
    parts = list(parts_of_history(recorded.directory, Filter()))

    one = run_backtest(subject, parts, jobs=1).result
    two = run_backtest(subject, parts, jobs=2).result

    assert len(parts) == 2
    assert list(one.decided) == list(two.decided)
    assert (one.events, one.sessions) == (two.events, two.sessions)


@pytest.mark.slow
def test_changed_decisions_are_grouped(recorded):
    recorded.add(shell(1, "ls"), shell(2, "rm -rf /"), shell(3, "rm x", "s2"), shell(4, "rm y"))
    before = recorded.run(recorded.hook(GUARD, "old.py")).result
    after = recorded.run(recorded.hook(GUARD.replace("rm -rf", "rm "), "new.py")).result

    changes = find_changes(before, after)
    (group,) = group_changes(changes)

    assert [change.event.text for change in changes] == ["rm x", "rm y"]
    assert (group.before, group.after, group.tool, group.sessions) == ("none", "deny", "shell", 2)
    assert len(new_denials(changes)) == 2


@pytest.mark.slow
def test_a_decision_that_depends_on_what_was_made_up_says_so(recorded):
    text = GUARD.replace(
        'if "rm -rf" in event.call.command', 'if event.permission_mode == "default"'
    )
    made_up = shell(1, "ls", permission_mode="default")
    recorded.add(
        made_up._replace(reconstructed=("permission_mode", "cwd")),
        shell(2, "ls", permission_mode="default"),
    )

    decided = recorded.run(recorded.hook(text)).result.decided

    assert [found.reconstructed for found in decided] == [("permission_mode",), ()]


MARKED = {
    "no": (),
    "no in default": ("permission_mode",),
    "no in default of /p": ("permission_mode", "cwd"),
}
"""Reason of a decision to the members that were not recorded on which it depends."""
MARKING = """
from anyhook.authoring import Hooks, context, deny
hooks = Hooks()

@hooks.before_tool
def guard(event):
    if event.call.command == "three":
        return deny(f"no in {event.permission_mode} of {event.cwd}")
    if event.call.command == "two":
        return deny(f"no in {event.raw.get('permission_mode')}")
    return deny("no")
"""


@pytest.mark.slow
def test_a_decision_is_marked_with_each_member_that_changes_it(recorded):
    events = [
        shell(n, command, permission_mode="default", cwd="/p")
        for n, command in enumerate(("one", "two", "three"))
    ]
    missing = ("permission_mode", "cwd", "transcript_path")
    recorded.add(*[event._replace(reconstructed=missing) for event in events])

    decided = recorded.run(recorded.hook(MARKING)).result.decided

    assert {found.decision["reason"]: found.reconstructed for found in decided} == MARKED


@pytest.mark.slow
def test_an_answer_that_changes_arguments_depends_on_those_that_were_made_up(recorded):
    # The function answers the same without the arguments, to which the answer is added.
    text = MARKING.replace("event.call.command", "event.session_id")
    text = text.replace('deny("no")', 'Answer(tool_input={"description": "changed"})')
    text = text.replace("import Hooks", "import Answer, Hooks")
    recorded.add(shell(1, "one")._replace(reconstructed=("tool_input", "cwd")))

    (found,) = recorded.run(recorded.hook(text)).result.decided

    assert found.reconstructed == ("tool_input",)


@pytest.mark.slow
def test_a_selection_leaves_out_events(recorded):
    recorded.add(shell(1, "ls"), shell(2, "rm -rf /", "s2"), shell(3, "ls", agent="gemini"))
    subject = recorded.hook(GUARD)

    def total(**fields):
        return recorded.run(subject, Filter(**fields)).result.total

    assert total(since=1_700_000_002.0) == 2
    assert total(session="s2") == 1
    assert total(agent="gemini") == 1
    assert total(tool="read_file") == 0
    assert total(text="rm rf") == 1
    assert total(text='"ls rm"') == 0


@pytest.mark.slow
def test_a_file_that_is_no_hook_file_is_an_error(recorded):
    recorded.add(shell(1, "ls"))

    with pytest.raises(UsageError, match="is not an anyhook hook file"):
        recorded.run(recorded.hook("print('hello')"))


def test_parts_that_one_of_two_runs_has_not_evaluated_are_no_changes():
    def decided(ref):
        return Decided(ref, "s1", "before_tool", "shell", "rm", {"outcome": "deny"}, ("guard",))

    before, after = ItemTable(), ItemTable()
    for number in range(3):
        after.extend([decided(str(number))], number)
    before.extend([decided("1")], 1)  # Ctrl-C ended it

    assert list(find_changes(Result(decided=before), Result(decided=after))) == []


def test_a_table_of_items_is_a_list_whose_parts_come_in_any_order():
    table = ItemTable[str]()
    table.extend(["c", "d"], 2)
    table.extend(["b"], 1)
    table.append("a")

    assert (list(table), len(table), table.segments) == (["a", "b", "c", "d"], 4, [0, 1, 2])
    assert (table[0], table[-1], table[1:3], list(table.segment(2))) == (
        *("a", "d"),
        ["b", "c"],
        ["c", "d"],
    )
    with pytest.raises(IndexError):
        table[4]


def test_a_revision_with_an_absolute_link_and_attributes_for_exports_is_a_baseline(tmp_path):
    def git(*arguments):
        identity = ("-c", "user.name=a", "-c", "user.email=a@b.c")
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True)

    (tmp_path / "guard.py").write_text(GUARD)
    (tmp_path / ".gitattributes").write_text("*.py export-ignore\n")
    (tmp_path / "link").symlink_to("/etc/hosts")
    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "a guard")
    (tmp_path / "guard.py").write_text("# changed\n")

    path = str(tmp_path / "guard.py")
    with baseline_of(BacktestSubject(path, "guard.py"), "git:HEAD") as former:
        assert Path(former.path).read_text() == GUARD
    assert (
        subprocess.run(
            ["git", "status", "--porcelain"],
            cwd=tmp_path,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        == " M guard.py\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "statement",
    fast_for(
        [
            "import os; os.close(1)",
            "import os; [os.close(n) for n in (0, 1, 2)]",
            "import sys; print('x', flush=True); sys.stdout.close()",
            "import sys; print('x', flush=True); sys.stdin.read(); sys.stdin = sys.stdout = None",
        ]
    ),
)
def test_streams_that_a_hook_closes_are_open_for_the_next_event(recorded, monkeypatch, statement):
    monkeypatch.setattr(sources, "PART", 4)
    recorded.add(*[shell(n, "rm -rf /", f"s{n}") for n in range(10)])

    result = recorded.run(recorded.hook(before_check(statement))).result

    assert (result.outcomes(), result.crashes) == ({"deny": 10}, {})

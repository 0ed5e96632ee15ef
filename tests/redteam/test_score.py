"""`anyhook score`: what a guard stops of a labelled set, and what it stops by mistake."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import termios
from collections import Counter
from pathlib import Path

import pytest

from anyhook.errors import UsageError
from anyhook.history.events import RecordedEvent
from anyhook.history.store import History
from anyhook.journal.lines import history_directory
from anyhook.redteam.labelled import BENIGN, DANGEROUS, FAMILIES, OWN_SET, read_set
from anyhook.redteam.score import score_answers, wilson
from anyhook.testing import make_payload
from tests.waiting import until

GUARD = '''
"""Keep the work.

Families: git
"""
from anyhook.authoring import Hooks, ask, deny

hooks = Hooks()


@hooks.before_tool("shell", "read_file")
def guard(event):
    if "push --force" in event.text:
        return deny("no force")
    if "reset" in event.text:
        return ask("sure?")
    if event.text == "crash":
        raise ValueError("broken")
    if event.text == "exit":
        import os
        os._exit(3)
    if event.text == "rewrite me":
        return event.rewrite(command="ls")


if __name__ == "__main__":
    hooks.run()
'''


def row(command, label, *families, **members):
    return {"command": command, "label": label, "families": list(families), **members}


ROWS = [
    row("git push --force", DANGEROUS, "git", source="corpus", commit="abc123", license="MIT"),
    row("git push --force x", DANGEROUS, "git"),
    row("git reset --hard", DANGEROUS, "git", "files"),
    row("git clean -fd", DANGEROUS, "git", reason="deletes untracked files"),
    row("crash", DANGEROUS, "git"),
    row("exit", DANGEROUS, "git"),
    row("rewrite me", DANGEROUS, "git"),
    row("git reset x.py", BENIGN, "git"),
    row("git status", BENIGN, "git"),
    row("git log", BENIGN),
    row("echo push --force", BENIGN, "secrets"),
    row("cat .env", DANGEROUS, "secrets"),
]


@pytest.fixture
def files(world, monkeypatch):
    monkeypatch.chdir(world.project)
    world.write(world.project / "guard.py", GUARD)

    def write(rows):
        lines = "\n".join(each if isinstance(each, str) else json.dumps(each) for each in rows)
        return world.write(world.project / "calls.jsonl", lines)

    write(ROWS)
    return write


def score(run, *arguments):
    code, out, err = run("score", "guard.py", "--on", "calls.jsonl", "--json", *arguments)
    return code, json.loads(out) if out else err


# -- intervals


@pytest.mark.parametrize(
    ("count", "total", "low", "high"),
    [
        # R. G. Newcombe, Statistics in Medicine 17 (1998), table I, method 3.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_the_interval_is_the_one_of_the_literature(count, total, low, high):
    assert wilson(count, total) == pytest.approx((low, high), abs=0.00005)


@pytest.mark.parametrize("total", [1, 7, 500])
@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_the_limits_of_an_interval_solve_the_equation_that_defines_them(total, share):
    count = round(share * total)
    for limit in wilson(count, total):
        distance = abs(count / total - limit)
        is_end = limit in (0.0, 1.0) and distance == 0
        deviation = 1.959963984540054 * math.sqrt(limit * (1 - limit) / total)
        assert is_end or distance == pytest.approx(deviation)


def test_nothing_is_known_without_calls():
    assert wilson(0, 0) == (0.0, 1.0)


# -- scores


@pytest.mark.slow
def test_a_score_is_the_one_that_is_counted_by_hand(files, run):
    code, data = score(run)

    (result,) = data["scores"]
    (git,) = result["families"]
    assert code == 0
    assert git["family"] == "git"
    detection, mistakes = git["detection"], git["false_blocks"]
    assert (detection["of"], detection["denied"], detection["asked"]) == (7, 2, 1)
    assert detection["rate"] == pytest.approx(3 / 7)
    assert detection["denied_rate"] == pytest.approx(2 / 7)
    # `git log` is benign for every family; the rows about secrets are not asked.
    assert (mistakes["of"], mistakes["denied"], mistakes["asked"]) == (3, 0, 1)
    assert mistakes["rate"] == pytest.approx(1000 / 3)
    misses = [(miss["place"], miss["call"]) for miss in git["misses"]]
    assert misses == [
        ("calls.jsonl:4", "git clean -fd"),
        ("calls.jsonl:5", "crash"),
        ("calls.jsonl:6", "exit"),
        ("calls.jsonl:7", "rewrite me"),
    ]
    assert git["misses"][0]["label_reason"] == "deletes untracked files"
    assert "ValueError: broken" in git["misses"][1]["error"]
    assert result["failed"] == 2
    (mistake,) = git["stopped_by_mistake"]
    assert (mistake["place"], mistake["outcome"]) == ("calls.jsonl:8", "ask")
    assert {"source": "corpus", "commit": "abc123", "license": "MIT", "rows": 1} in (
        data["sets"][0]["origins"]
    )


@pytest.mark.slow
def test_a_guard_is_scored_for_what_it_says_that_it_is_for(files, run, world):
    about = GUARD.replace("hooks = Hooks()", 'hooks = Hooks()\nhooks.about(families=["secrets"])')
    world.write(world.project / "guard.py", about)

    _, data = score(run)
    (secrets,) = data["scores"][0]["families"]
    assert (secrets["family"], secrets["detection"]["of"]) == ("secrets", 1)
    assert secrets["false_blocks"]["denied"] == 1

    _, data = score(run, "--family", "files")
    assert [family["family"] for family in data["scores"][0]["families"]] == ["files"]

    world.write(world.project / "guard.py", GUARD.replace("Families: git", ""))
    _, data = score(run)
    assert not data["scores"][0]["claimed"]
    families = {family["family"] for family in data["scores"][0]["families"]}
    assert families == {"git", "files", "secrets"}


def test_a_limit_that_is_compared_with_nothing_is_not_kept():
    nothing = score_answers([], ["git"])

    assert nothing.problems() == []
    (problem,) = nothing.problems(min_detection=0.5)
    assert "no dangerous call was asked about" in problem
    (problem,) = nothing.problems(max_false_blocks=5)
    assert "no benign call was asked about" in problem


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "code", "problem"),
    [
        (["--min-detection", "0.42"], 0, ""),
        (["--min-detection", "0.43"], 1, "git: 42.9% detected; --min-detection is 0.43"),
        (["--max-false-blocks", "334"], 0, ""),
        (["--max-false-blocks", "333"], 1, "git: 333.3 of 1,000 benign calls stopped"),
    ],
)
def test_limits_decide_the_exit_code(files, run, arguments, code, problem):
    actual, data = score(run, *arguments)

    assert actual == code
    assert data["ok"] == (code == 0)
    assert problem in " ".join(data["problems"])


@pytest.mark.slow
def test_a_command_of_the_settings_is_asked_as_its_agent_would(files, run, world):
    world.agent_settings = {"hooks": [{"type": "command", "name": "shell", "command": SHELL}]}
    definition = {"matcher": "run_shell_command", **world.agent_settings}
    world.settings("project", {"hooks": {"BeforeTool": [definition]}})

    arguments = ("score", "shell", "--on", "calls.jsonl", "--family", "git", "--json")
    code, out, _ = run(*arguments, "--trust-once")
    (git,) = json.loads(out)["scores"][0]["families"]
    assert (code, git["detection"]["denied"], git["detection"]["of"]) == (0, 2, 7)

    code, out, _ = run(*arguments)
    assert code == 1
    assert "add --trust-once" in json.loads(out)["problems"][0]


SHELL = "if grep -q 'push --force'; then echo no >&2; exit 2; fi"


@pytest.mark.slow
def test_the_table_and_the_page_show_every_miss(files, run, world):
    page = world.project / "score.html"

    code, out, _ = run("score", "guard.py", "--on", "calls.jsonl", "--html", str(page))

    assert code == 0
    html = page.read_text("utf-8")
    for text in ("calls.jsonl:4", "git clean -fd", "deletes untracked files", "abc123", "MIT"):
        assert text in out
        assert text in html
    assert "43%" in out


# -- sets


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "calls.jsonl:2: this line is not JSON"),
        ("[]", "calls.jsonl:2: a row is an object"),
        (row("ls", "harmless", "git"), "label is 'harmless'; write dangerous or benign"),
        (row("ls", DANGEROUS), "a dangerous call needs families"),
        ({"label": BENIGN}, "a row has a command or an event"),
        ({**row("ls", BENIGN), "event": {"event": "x"}}, "a command or an event, and one only"),
        ({**row("ls", BENIGN), "famlies": []}, "unknown member 'famlies'"),
        (
            {**row("ls", BENIGN), "families": "git"},
            'families must be a list of texts, like ["git"]',
        ),
        ({**row("ls", BENIGN), "families": [1]}, "families must be a list of texts"),
        ({"label": BENIGN, "event": {"tool": "shell"}}, "event must be an object"),
        ({"label": BENIGN, "event": {"event": "x", "args": 1}}, "event must be an object"),
    ],
)
def test_a_malformed_row_is_an_error_with_its_line(files, run, line, message):
    files([ROWS[0], line])

    code, err = score(run)

    assert code == 64
    assert message in err


@pytest.mark.slow
def test_a_family_without_rows_is_an_error_with_those_that_there_are(files, run):
    code, err = score(run, "--family", "gti")

    assert code == 64
    assert "calls.jsonl has no rows about 'gti'; it has rows about git, files, secrets" in err


@pytest.mark.slow
def test_a_guard_is_scored_for_those_of_its_dangers_that_a_set_is_about(files, run):
    Path("guard.py").write_text(GUARD.replace("Families: git", "Families: git, network"))

    code, out, err = run("score", "guard.py", "--on", "calls.jsonl", "--json")

    assert code == 0, err
    (scored,) = json.loads(out)["scores"]
    assert scored["not_in_set"] == ["network"]
    assert [family["family"] for family in scored["families"]] == ["git"]
    _, out, _ = run("score", "guard.py", "--on", "calls.jsonl")
    assert "the set has no rows about network" in out


@pytest.mark.slow
def test_calls_that_the_agent_does_not_have_are_counted_and_not_asked(files, run):
    event = {"event": "before_tool", "tool": "read_file", "input": {"file_path": "reset"}}
    other = {"event": "worktree_create", "input": {}}
    files(
        [
            {"event": event, "label": DANGEROUS, "families": ["git"]},
            {"event": other, "label": DANGEROUS, "families": ["git"]},
        ]
    )

    _, data = score(run)

    assert data["scores"][0]["not_asked"] == 1
    assert data["scores"][0]["families"][0]["detection"]["asked"] == 1


def test_the_own_set_has_a_reason_for_each_row_and_both_labels_for_each_family():
    labelled = read_set(OWN_SET)

    numbers = Counter((family, call.label) for call in labelled.calls for family in call.families)
    assert {family for family, _ in numbers} == set(FAMILIES)
    for family in FAMILIES:
        assert numbers[family, DANGEROUS] >= 20
        assert numbers[family, BENIGN] >= 20
    assert all(call.reason for call in labelled.calls)
    texts = [call.text for call in labelled.calls]
    assert len(texts) == len(set(texts)) >= 400
    (origin,) = labelled.origins
    assert origin.license == "Apache-2.0"


def test_a_set_that_cannot_be_read_is_an_error(tmp_path):
    with pytest.raises(UsageError, match="cannot be read"):
        read_set(tmp_path / "missing.jsonl")


# -- the user's own calls


def past(number, command, decision=None):
    payload = make_payload("before_tool", agent="gemini", tool="shell", input={"command": command})
    time = 1_700_000_000.0 + number
    event = RecordedEvent("gemini", "s", "before_tool", time, payload, "import", tool="shell")
    return event._replace(decision=decision)


@pytest.fixture
def recorded(files):
    denied = {"outcome": "deny", "reason": "no"}
    with History.open(history_directory()) as history:
        history.add(
            [
                past(1, "git push --force"),
                past(2, "git push --force"),
                past(3, "git reset a"),
                past(4, "git push --force b", denied),
                past(5, "ls"),
            ]
        )


@pytest.mark.slow
def test_the_history_shows_what_would_have_been_stopped_and_was_not(recorded, run):
    code, out, err = run("score", "guard.py", "--history", "--json")

    assert code == 0, err
    (review,) = json.loads(out)["reviews"]
    assert (review["calls"], review["stopped"]) == (4, 3)
    groups = [(group["outcome"], group["reason"], group["number"]) for group in review["groups"]]
    assert groups == [("deny", "no force", 2), ("ask", "sure?", 1)]
    (call,) = review["groups"][0]["calls"]
    assert (call["call"], call["number"]) == ("git push --force", 2)
    _, out, _ = run("score", "guard.py", "--history")
    assert "would have stopped 3 of 4 calls; to review" in out


@pytest.mark.slow
def test_a_call_that_a_hook_hands_over_would_have_been_stopped_in_both_scores(files, run):
    # Claude Code has such an answer; other agents do not.
    payload = make_payload("before_tool", agent="claude", tool="shell", input={"command": "ls"})
    event = RecordedEvent("claude", "s", "before_tool", 1.7e9, payload, "import", tool="shell")
    with History.open(history_directory()) as history:
        history.add([event])
    text = """
from anyhook.authoring import Hooks, defer

hooks = Hooks()


@hooks.before_tool("shell")
def hand_over(event):
    return defer()


if __name__ == "__main__":
    hooks.run()
"""
    Path("later.py").write_text(text)
    call = {"command": "ls", "label": "dangerous", "families": ["git"], "reason": "it lists"}
    Path("set.jsonl").write_text(json.dumps(call) + "\n")

    _, out, _ = run("score", "later.py", "--history", "--json")
    _, labelled, _ = run("score", "later.py", "--on", "set.jsonl", "--json")

    (review,) = json.loads(out)["reviews"]
    assert review["stopped"] == 1
    (git,) = json.loads(labelled)["scores"][0]["families"]
    assert git["detection"]["rate"] == 1


@pytest.mark.slow
def test_labels_of_past_calls_make_a_set_of_the_users_own(recorded, run):
    terminal, keyboard = os.openpty()

    def is_waiting_for_a_key():
        return not termios.tcgetattr(keyboard)[3] & termios.ICANON

    command = [sys.executable, "-m", "anyhook", "score", "guard.py", "--history"]
    with subprocess.Popen([*command, "--label", "own.jsonl"], stdin=keyboard) as process:
        until(is_waiting_for_a_key)
        os.write(terminal, b"d")
        until(lambda: not is_waiting_for_a_key())
        os.write(terminal, b"git, files\n")
        until(is_waiting_for_a_key)
        os.write(terminal, b"b")
    os.close(terminal)
    os.close(keyboard)

    assert process.returncode == 0
    labelled = read_set(Path("own.jsonl"))
    calls = [(call.text, call.label, call.families) for call in labelled.calls]
    assert calls == [
        ("git push --force", DANGEROUS, ("git", "files")),
        ("git reset a", BENIGN, ()),
    ]
    code, out, _ = run("score", "guard.py", "--on", "own.jsonl", "--family", "git", "--json")
    (git,) = json.loads(out)["scores"][0]["families"]
    assert (code, git["detection"]["denied"], git["false_blocks"]["asked"]) == (0, 1, 1)


@pytest.mark.parametrize(
    "option", [("--on", "calls.jsonl"), ("--family", "git"), ("--min-detection", "0")]
)
def test_an_option_for_labelled_sets_is_an_error_with_the_history(recorded, run, option):
    code, _, err = run("score", "guard.py", "--history", *option)

    assert (code, f"{option[0]} is about labelled sets" in err) == (64, True)


def test_a_hook_that_is_not_trusted_is_reported_with_the_history(recorded, run):
    settings = {"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "./x.py"}]}]}}
    Path(".gemini").mkdir()
    Path(".gemini/settings.json").write_text(json.dumps(settings))

    code, out, err = run("score", "--history", "--agent", "gemini", "--json")

    (problem,) = json.loads(out)["problems"]
    assert (code, "you have not trusted it" in problem) == (1, True), err


def test_labels_need_a_terminal_and_the_history(recorded, run):
    assert run("score", "guard.py", "--history", "--label", "own.jsonl")[0] == 64
    code, _, err = run("score", "guard.py", "--label", "own.jsonl")
    assert (code, "add --history" in err) == (64, True)

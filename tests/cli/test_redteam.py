"""`anyhook redteam` as a user gives it."""

from __future__ import annotations

import json
import sys
import time

import pytest

from anyhook.cli import OK, PROBLEMS, USAGE
from anyhook.history.events import RecordedEvent, RecordedResult
from anyhook.history.store import History
from anyhook.journal.lines import history_directory
from anyhook.manage.redteam import choose_guards, denied_by
from anyhook.redteam import search
from anyhook.testing import make_payload
from tests.redteam.guards import TUTORIAL, write_configured

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="namespaces are those of Linux")

FEW = ("--class", "option", "--class", "quotes")


@pytest.fixture
def guard(project, monkeypatch):
    monkeypatch.chdir(project)
    file = project / "guard.py"
    file.write_text(TUTORIAL)
    return file


@pytest.mark.slow
def test_a_report_names_the_escape_the_example_and_what_closes_it(run, guard):
    code, output, _ = run("redteam", "guard.py", *FEW)
    assert code == OK
    assert "rm -r src" in output
    example = 'hooks.example(tool="shell", input={"command": "rm -r src"}, expect="deny")'
    assert example in output
    assert 'if event.deletes("src/**"): return deny("…")' in output
    assert 'event.runs("git", "push", options={"--force"})' in output


@pytest.mark.slow
def test_an_escape_fails_if_it_is_asked_for(run, guard):
    code, output, _ = run("redteam", "guard.py", *FEW, "--fail-on", "escape", "--json")
    assert code == PROBLEMS
    report = json.loads(output)
    escape = next(entry for entry in report["escapes"] if entry["command"] == "rm -r src")
    assert escape["of"] == "rm -rf src"
    assert escape["class"] == "option"
    assert escape["shell"] == "bash"
    assert escape["hook"] == "guard.py"
    assert escape["proved"] is True


@pytest.mark.slow
def test_accepted_escapes_do_not_fail(run, guard, project):
    accepted = project / ".anyhook" / "accepted-escapes.toml"
    accepted.parent.mkdir()
    entries = [f'[[accepted]]\nclass = "{name}"\nreason = "known"\n' for name in FEW[1::2]]
    accepted.write_text("\n".join(entries))
    code, output, _ = run("redteam", "guard.py", *FEW, "--fail-on", "escape", "--json")
    report = json.loads(output)
    assert code == OK
    assert report["escapes"] == []
    assert {entry["reason"] for entry in report["accepted"]} == {"known"}


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ('class = "quotes"', "it needs a reason"),
        ('reason = "all"', "and one of class, of, command, hook"),
        ('clas = "quotes"\nreason = "x"', "unknown member 'clas'"),
        ('class = "quots"\nreason = "x"', "unknown class 'quots'; did you mean 'quotes'?"),
        ('command = 5\nreason = "x"', "command must be a text"),
    ],
)
def test_an_accepted_escape_needs_a_reason_and_a_mark(run, guard, project, entry, problem):
    (project / "accepted.toml").write_text(f"[[accepted]]\n{entry}\n")
    code, _, errors = run("redteam", "guard.py", "--accepted", "accepted.toml")
    assert code == USAGE
    assert "entry 1: " in errors
    assert problem in errors
    assert "[[accepted]]" in errors


@pytest.mark.slow
def test_a_hook_that_denies_nothing_known_is_a_problem(run, guard):
    guard.write_text(TUTORIAL.replace("rm\\s+-rf|git push --force", "never-heard-of"))
    code, output, _ = run("redteam", "guard.py")
    assert code == PROBLEMS
    assert "--command LINE" in output


@pytest.mark.slow
def test_a_hook_that_fails_on_everything_is_not_one_that_denies_nothing(run, guard):
    guard.write_text(
        "from anyhook.authoring import Hooks\n"
        "hooks = Hooks()\n"
        "@hooks.before_tool\n"
        "def check(event):\n"
        "    raise ValueError('what?')\n"
    )
    arguments = ("redteam", "guard.py", "--command", "terraform destroy", *FEW)
    code, output, _ = run(*arguments)
    code_of_json, report, _ = run(*arguments, "--json")

    assert code == code_of_json == PROBLEMS
    assert "terraform destroy is not denied (--command)" in output
    assert "It failed on 1 of 1 call: ValueError: what?" in output
    (hook,) = json.loads(report)["hooks"]
    assert json.loads(report)["ok"] is False
    assert hook["not_denied"] == [{"of": "terraform destroy", "source": "--command"}]
    assert "ValueError: what?" in hook["errors"][0]


@pytest.mark.slow
def test_a_line_of_the_user_is_tried(run, guard):
    guard.write_text(TUTORIAL.replace("rm\\s+-rf|git push --force", "^frobnicate all$"))
    code, output, _ = run(
        "redteam", "guard.py", "--command", "frobnicate all", "--class", "quotes", "--json"
    )
    assert code == OK
    assert {entry["of"] for entry in json.loads(output)["escapes"]} == {"frobnicate all"}


@pytest.mark.slow
def test_hooks_of_the_settings_run_when_they_are_trusted(run, project, monkeypatch):
    monkeypatch.chdir(project)
    write_configured(project)
    code, output, _ = run("redteam", *FEW)
    assert code == PROBLEMS
    assert "guard.sh (Claude Code) was not run: you have not trusted it; add --trust-once" in output
    code, output, _ = run("redteam", *FEW, "--trust-once")
    assert code == OK
    assert "rm -r ~" in output
    assert "[[case]]" in output


def denial_of(file, command):
    payload = make_payload("before_tool", agent="claude", tool="shell", input={"command": command})
    denial = {"outcome": "deny", "reason": "no"}
    result = RecordedResult(file.name, place=str(file), answer=denial)
    return RecordedEvent(
        "claude",
        "session",
        "before_tool",
        time.time(),
        payload,
        "hook",
        tool="shell",
        decision=denial,
        results=(result,),
    )


@pytest.mark.parametrize("name", ["hooks/guard.py", "no deletes"])
def test_denials_in_the_history_are_found_by_the_file_of_the_hook(project, monkeypatch, name):
    monkeypatch.chdir(project)
    file = project / "hooks" / "guard.py"
    file.parent.mkdir()
    file.write_text(TUTORIAL)
    hook = {"name": "no deletes", "type": "command", "command": "anyhook run hooks/guard.py"}
    settings = project / ".gemini" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"hooks": {"BeforeTool": [{"hooks": [hook]}]}}))
    with History.open(history_directory()) as history:
        other_file = project / "other" / "guard.py"
        history.add([denial_of(file, "rm -rf old"), denial_of(other_file, "ls")])

        (guard,) = choose_guards(project, [name], None, trust_once=True).guards
        (plain,) = denied_by(guard, (), history, cases=None, commands=())

    assert (plain.text, plain.source) == ("rm -rf old", "denied in the history")


def test_a_history_that_cannot_be_opened_is_reported(run, guard, tmp_path, monkeypatch):
    monkeypatch.setenv("ANYHOOK_DATA_DIR", str(guard))

    code, output, err = run("redteam", "guard.py", "--class", "path", "--yes")

    assert code == OK
    assert "guard.py denies" in output
    assert "passed, not proved equal" in output
    assert "denials in the history are not tried: " in err


def test_options_are_checked(run, guard):
    for arguments, message in (
        (("--class", "quote"), "quotes"),
        (("--fail-on", "all"), "escape"),
        (("--shell", "fish"), "bash"),
    ):
        code, _, errors = run("redteam", "guard.py", *arguments)
        assert code == USAGE
        assert message in errors


@pytest.mark.parametrize("command", ["redteam", "score"])
def test_a_name_that_stands_for_nothing_is_an_error_also_next_to_others(
    run, guard, project, command
):
    code, _, errors = run(command, "guard.py", "nofile.py")
    assert code == USAGE
    assert "nofile.py does not exist" in errors
    assert "no agent has hooks here" in errors

    write_configured(project)
    code, _, errors = run(command, "guard.py", "nofile.py")
    assert code == USAGE
    assert "nofile.py does not exist, and it is not the name of a hook" in errors
    assert "guard.sh" in errors
    assert "no hook named 'nohook'" in run(command, "nohook")[2]


def test_without_namespaces_nothing_is_proved(run, guard, monkeypatch):
    def refuse(*_arguments):
        raise search.SandboxError("this system allows no namespaces")

    monkeypatch.setattr(search, "Oracle", refuse)
    _, output, _ = run("redteam", "guard.py", *FEW, "--json")
    escapes = json.loads(output)["escapes"]
    assert escapes
    assert not any(entry["proved"] for entry in escapes)

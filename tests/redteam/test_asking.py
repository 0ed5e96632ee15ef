"""A hook is asked as its agent would ask it, however it ends."""

from __future__ import annotations

import json
from contextlib import closing

import pytest

from anyhook.errors import UsageError
from anyhook.model.diagnostics import Place
from anyhook.redteam.asking import Asker, Guard
from anyhook.testing.events import make_payload
from tests.redteam.guards import write_configured

HOSTILE = """\
import os, signal, time

from anyhook.authoring import Hooks, ask, deny

hooks = Hooks(timeout=0.3)
seen = []


@hooks.before_tool("shell")
def guard(event):
    word = event.call.command
    if word in seen:
        return deny("it remembers")
    if word.startswith("note"):
        seen.append(word)
    if word == "raise":
        raise ValueError("broken")
    if word == "exit":
        os._exit(3)
    if word == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if word == "hang":
        while True:
            time.sleep(1)
    if word == "ask":
        return ask("really?")
    if word == "deny":
        return deny("no")
"""


def shell(project, command):
    return make_payload(
        "before_tool", agent="claude", tool="shell", input={"command": command}, cwd=str(project)
    )


@pytest.fixture
def hook(project):
    (project / "guard.py").write_text(HOSTILE)
    with closing(
        Asker(Guard("guard.py", "claude", str(project), file=str(project / "guard.py")))
    ) as asker:
        yield asker


@pytest.mark.slow
def test_each_question_has_its_answer(hook, project):
    words = ["deny", "ask", "ls", "raise", "exit", "deny", "kill", "hang", "deny"]
    answers = hook.ask([(shell(project, word),) for word in words])
    outcomes = [answer.outcome for answer in answers]
    assert outcomes == ["deny", "ask", "none", "change", "none", "deny", "none", "change", "deny"]
    assert [bool(answer.error) for answer in answers] == [
        *(False, False, False, True, True, False, True, True, False)
    ]
    assert answers[0].reason == "no"
    assert answers[1].is_stopped


@pytest.mark.slow
def test_a_hook_remembers_what_happened_in_the_session_and_no_other(hook, project):
    note = shell(project, "note 1")
    answers = hook.ask([(note,), (note,), (note, note), (note,)])
    assert [answer.outcome for answer in answers] == ["none", "none", "deny", "none"]


@pytest.mark.slow
def test_a_hook_that_cannot_be_loaded_is_an_error(project):
    (project / "guard.py").write_text(
        "import os\nfrom anyhook.authoring import Hooks\nhooks = Hooks()\nos._exit(3)"
    )
    guard = Guard("guard.py", "claude", str(project), file=str(project / "guard.py"))
    with (
        closing(Asker(guard)) as asker,
        pytest.raises(UsageError, match=r"guard\.py cannot be loaded"),
    ):
        asker.ask([(shell(project, "ls"),)])


@pytest.mark.slow
def test_a_command_of_the_settings_is_started_alone(project):
    script = write_configured(project)
    settings = project / ".claude" / "settings.json"
    content = json.loads(settings.read_text())
    entry = {"matcher": "Bash", "hooks": [{"type": "command", "command": "exit 2"}]}
    content["hooks"]["PreToolUse"].append(entry)
    settings.write_text(json.dumps(content))
    place = Place(str(settings), 1, settings.read_text().index('{"type"') + 1)
    guard = Guard("guard.sh", "claude", str(project), places=(place,), is_trusted=True)
    with closing(Asker(guard)) as asker:
        answers = asker.ask([(shell(project, "ls"),), (shell(project, "rm -rf src"),)])
    assert [answer.outcome for answer in answers] == ["none", "deny"]
    assert script.exists()
    assert not (project / "seen.txt").exists()


@pytest.mark.slow
def test_a_command_gets_each_question_in_another_session(project):
    script = project / "once.sh"
    script.write_text(
        "#!/bin/sh\nread -r line\nname=$(echo \"$line\" | cksum | tr -cd '0-9')\n"
        '[ -e "/tmp/$name" ] && exit 2\n: > "/tmp/$name"\n'
    )
    script.chmod(0o755)
    guard = Guard("once.sh", "claude", str(project), command=str(script), is_trusted=True)
    question = (shell(project, "ls"),)
    with closing(Asker(guard)) as asker:
        answers = asker.ask([question, question, (*question, *question)])
    assert [answer.outcome for answer in answers] == ["none", "none", "deny"]


@pytest.mark.slow
def test_a_program_is_asked_about_every_tool(project):
    script = write_configured(project)
    guard = Guard("guard.sh", "claude", str(project), command=str(script), is_trusted=True)
    write = make_payload(
        "before_tool",
        agent="claude",
        tool="write_file",
        input={"file_path": "a", "content": "rm -rf src"},
        cwd=str(project),
    )
    with closing(Asker(guard)) as asker:
        assert [answer.outcome for answer in asker.ask([(write,)])] == ["deny"]

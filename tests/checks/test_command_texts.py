"""`check` reports guards that search the text of a command, and says what to write instead."""

from __future__ import annotations

import json

import pytest

from anyhook import Engine
from anyhook.checks.rules import check_settings

HEAD = "import re\nfrom anyhook.authoring import Hooks, deny\nhooks = Hooks()\n"
TAIL = "hooks.run()\n"


def messages(project, name, text):
    (project / name).write_text(text)
    program = "bash" if name.endswith(".sh") else "python3"
    settings = project / ".claude" / "settings.json"
    settings.parent.mkdir(exist_ok=True)
    handler = {"type": "command", "command": f"{program} {name}"}
    hooks = {"PreToolUse": [{"matcher": "Bash", "hooks": [handler]}]}
    settings.write_text(json.dumps({"hooks": hooks}))
    problems = check_settings(Engine.load(project, agent="claude", on_message=None))
    return [
        (problem.place.line, problem.message)
        for problem in problems
        if problem.code == "command-text"
    ]


def guard(test):
    body = (
        f"@hooks.before_tool('shell')\ndef guard(event):\n    {test}\n        return deny('no')\n"
    )
    return f"{HEAD}{body}{TAIL}"


@pytest.mark.parametrize(
    ("test", "instead"),
    [
        ("if 'rm -rf' in event.call.command:", 'event.runs("rm", options={"--recursive"'),
        ("if event.call.command.startswith('sudo'):", 'event.runs("sudo")'),
        (
            "if re.search(r'\\bgit\\s+push\\s+--force', event.call.command):",
            'event.runs("git", "push", options={"--force"})',
        ),
        ("if 'rm' in event.tool_input['command'].lower():", 'event.runs("rm")'),
        ("if 'rm' in event.tool_input.get('command', ''):", 'event.runs("rm")'),
        ("command = event.call.command\n    if '|sh' in command:", "event.deletes("),
    ],
)
def test_a_test_on_the_text_of_a_command_is_reported(project, test, instead):
    ((line, message),) = messages(project, "hook.py", guard(test))

    assert line == 6 + test.count("\n")
    assert instead in message


@pytest.mark.parametrize(
    "test",
    [
        "if event.runs('rm', options={'--recursive'}):",
        "if 'AKIA' in event.text:",
        "if event.call.file_path.endswith('.lock'):",
    ],
)
def test_other_tests_are_not_reported(project, test):
    assert messages(project, "hook.py", guard(test)) == []


def test_grep_on_the_command_in_a_shell_hook_is_reported(project):
    script = (
        "#!/bin/bash\ncommand=$(jq -r .tool_input.command)\n"
        "# grep would be wrong here\n"
        'if echo "$command" | grep -qE "rm -rf"; then exit 2; fi\n'
    )

    ((line, message),) = messages(project, "hook.sh", script)

    assert line == 4
    assert "write the guard in Python" in message


def test_grep_on_files_in_a_shell_hook_is_not_reported(project):
    script = "#!/bin/bash\nif grep -q TODO notes.txt; then exit 2; fi\n"

    assert messages(project, "hook.sh", script) == []

"""`anyhook check` reports functions of hook files whose answer never counts."""

from __future__ import annotations

import json
import sys

import pytest

import anyhook
from anyhook import SyncEngine
from anyhook.checks.rules import find_problems

FILE = """\
from anyhook.authoring import Hooks, allow, context, deny
from anyhook.authoring import deny as no

hooks = Hooks()


{function}

if __name__ == "__main__":
    hooks.run()
"""


@pytest.fixture
def check(project):
    """Check a hook file with a function; return the problems about it, and its health."""

    def run(function):
        file = project / "guard.py"
        file.write_text(FILE.format(function=function))
        handler = {"type": "command", "command": f"{sys.executable} guard.py"}
        settings = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [handler]}]}}
        path = project / ".claude" / "settings.json"
        path.parent.mkdir()
        path.write_text(json.dumps(settings))
        options = {"agent": "claude", "trust_once": True, "on_message": lambda _text: None}
        with SyncEngine.load(project, **options) as engine:
            findings = find_problems([engine.engine])
            (hook,) = anyhook.health(engine).hooks
        problems = [
            finding.diagnostic
            for finding in findings
            if finding.diagnostic.code in {"answer-lost", "never-runs"}
        ]
        return problems, str(hook.word)

    return run


LOST = [
    (
        '@hooks.before_tool("shell")\ndef f(event):\n    if event.text:\n        deny("no")',
        "deny()",
        10,
    ),
    ("@hooks.before_tool\ndef f(event):\n    no('x')\n    return allow()", "no()", 9),
    ("@hooks.before_tool\ndef f(event):\n    event.rewrite(command='ls')", "event.rewrite()", 9),
    ("@hooks.before_tool\ndef f(event):\n    raise deny('no')", "cannot be raised", 9),
    ("@hooks.before_tool\ndef f(event):\n    yield deny('no')", "generator", 9),
    ("@hooks.before_tool\ndef f(event):\n    return 'deny'", "returns 'deny'", 9),
    ("@hooks.on('before_tool')\ndef f(event):\n    return False", "returns False", 9),
    ("@hooks.before_tool\ndef f():\n    return deny('no')", "one parameter", 8),
    ("@hooks.before_tool\ndef f(event, tool):\n    return deny('no')", "one parameter", 8),
    ("class A:\n    @hooks.before_tool\n    def f(self, event):\n        pass", "one parameter", 9),
]
RETURNED = [
    "@hooks.before_tool\ndef f(event):\n    return deny('no')",
    "@hooks.before_tool\nasync def f(event):\n    return deny('no')",
    "@hooks.before_tool\ndef f(event):\n    answer = deny('no')\n    return answer",
    "@hooks.before_tool\ndef f(event):\n    return None",
    "@hooks.before_tool\ndef f(event, limit=3):\n    return deny('no') if limit else None",
    "@hooks.before_tool\ndef f(*events):\n    return deny('no')",
    "@hooks.before_tool\ndef f(event):\n    def g():\n        yield\n    return deny('no')",
    "def other(x):\n    return True\n\n@hooks.before_tool\ndef f(event):\n    return deny('no')",
    "def deny(text):\n    pass\n\n@hooks.before_tool\ndef f(event):\n    deny('no')",
]


@pytest.mark.parametrize(("function", "words", "line"), LOST)
def test_an_answer_that_is_not_returned_is_reported(check, function, words, line):
    (problem,), health = check(function)

    assert (problem.code, problem.place.line, health) == ("answer-lost", line, "broken")
    assert words in problem.message


@pytest.mark.parametrize("function", RETURNED)
def test_an_answer_that_is_returned_is_not_reported(check, function):
    assert check(function) == ([], "unknown")


@pytest.mark.parametrize(
    ("decorator", "event"),
    [
        ("hooks.before_tools('shell')", "before_tool"),
        ("hooks.PreToolUse('shell')", "before_tool"),
        ("hooks.Stop", "after_agent"),
        ("hooks.on('before-tool')", "before_tool"),
    ],
)
def test_a_decorator_for_an_event_that_does_not_exist_is_reported(check, decorator, event):
    (problem,), health = check(f"@{decorator}\ndef f(event):\n    return deny('no')")

    assert (problem.code, problem.place.line, health) == ("never-runs", 7, "broken")
    assert problem.message.endswith(f"did you mean {event!r}?")

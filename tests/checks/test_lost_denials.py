"""`anyhook check` reports command lines that drop the denial of the script that they start.

The engine runs each line, too: what is reported as lost does not deny, and the others do.
"""

from __future__ import annotations

import json
import sys

import pytest

import anyhook
from anyhook import BeforeTool, SyncEngine
from anyhook.checks.rules import find_problems
from tests.tables import fast_for

BY_CODE = """\
#!/usr/bin/env python3
import json, sys
if json.load(sys.stdin)["tool_input"]["command"] == "danger":
    print("not that", file=sys.stderr)
    sys.exit(2)
"""
BY_REPLY = """\
#!/usr/bin/env python3
import json, sys
if json.load(sys.stdin)["tool_input"]["command"] == "danger":
    reply = {"hookEventName": "PreToolUse", "permissionDecision": "deny"}
    print(json.dumps({"hookSpecificOutput": {**reply, "permissionDecisionReason": "not that"}}))
"""
HOOK_FILE = f"""\
#!{sys.executable}
from anyhook.authoring import Hooks, deny
hooks = Hooks()
@hooks.before_tool("shell")
def guard(event):
    if event.runs("danger"):
        return deny("not that")
hooks.run()
"""
SCRIPTS = {"code": BY_CODE, "reply": BY_REPLY, "hook file": HOOK_FILE}

LOST = [
    ("code", "./guard.py || true"),
    ("code", "./guard.py || exit 0"),
    ("code", "./guard.py || exit 1"),
    ("code", "./guard.py || echo failed"),
    ("code", "./guard.py 2>/dev/null || :"),
    ("code", "./guard.py; true"),
    ("code", "./guard.py; echo done"),
    ("code", "./guard.py | cat"),
    ("code", "./guard.py 2>&1 | tee log.txt"),
    ("code", "[ -x guard.py ] && ./guard.py || true"),
    ("code", "timeout 5 ./guard.py || true"),
    ("code", "( ./guard.py ) || true"),
    ("code", "if ./guard.py; then exit 0; else exit 1; fi"),
    ("code", "if ./guard.py; then :; fi"),
    ("code", "bash -c './guard.py; exit 0'"),
    ("code", "./guard.py &"),
    ("code", "./guard.py & wait $!"),
    ("code", "xargs -0 ./guard.py"),
    ("code", "! ./guard.py"),
    ("code", "! ./guard.py || exit 2"),
    ("code", "cat > /dev/null; ./guard.py"),
    ("code", "cat >/dev/null && ./guard.py || exit $?"),
    ("code", "read -r event; ./guard.py"),
    ("hook file", "read -r event; ./guard.py"),
    ("code", "tee log.txt > /dev/null; ./guard.py"),
    ("reply", "cat > /dev/null; ./guard.py"),
    ("reply", "./guard.py > /dev/null"),
    ("reply", "./guard.py >> log.txt 2>&1"),
    ("reply", "./guard.py >&2"),
    ("reply", "./guard.py &"),
    ("reply", "(./guard.py &)"),
    ("code", "{ ./guard.py & }; wait"),
    ("reply", "echo start; ./guard.py"),
    ("hook file", "./guard.py >> log.txt"),
    ("hook file", "./guard.py; echo done"),
    ("code", "./guard.py; x=1"),
    ("code", "x=$(./guard.py); echo $x"),
    ("code", 'x=`./guard.py`; echo "$x"'),
    ("code", "echo $(./guard.py)"),
    ("code", "export x=$(./guard.py)"),
    ("code", "if x=$(./guard.py); then exit 0; fi"),
    ("code", "x=$(cat); ./guard.py"),
    ("code", "bash -c 'cat <(./guard.py)'"),
    ("code", "g() { ./guard.py; }; g || true"),
    ("code", "g() { ./guard.py; return 0; }; g"),
    ("code", "g() { ./guard.py; }; g &"),
    ("code", "g() { ./guard.py; }; true"),
    ("reply", "x=$(./guard.py)"),
    ("reply", "x=`./guard.py`; exit $?"),
    ("reply", ": $(./guard.py)"),
    ("reply", 'if [ -n "$(./guard.py)" ]; then exit 0; fi'),
    ("reply", 'echo "$(./guard.py)" >&2'),
    ("reply", "g() { ./guard.py; }; g > /dev/null"),
    ("hook file", "x=$(./guard.py) || true"),
    ("hook file", "g() { ./guard.py; }; g &"),
]
KEPT = [
    ("code", "./guard.py"),
    ("code", "./guard.py || exit $?"),
    ("code", "./guard.py || exit 2"),
    ("code", "./guard.py; exit $?"),
    ("code", "./guard.py; rc=$?; echo done >&2; exit $rc"),
    ("code", "./guard.py && true"),
    ("code", "./guard.py > /dev/null"),
    ("code", "set -e; ./guard.py; echo done"),
    ("code", "bash -c 'set -o pipefail; ./guard.py | cat'"),
    ("code", "if ! ./guard.py; then exit 2; fi"),
    ("code", "test -x guard.py || exit 0; ./guard.py"),
    ("code", "cat | ./guard.py"),
    ("code", "exec ./guard.py; true"),
    ("code", "for name in a; do ./guard.py; done"),
    ("code", "! ./guard.py && exit 2"),
    ("code", "! { ! ./guard.py; } && exit 0 || exit 2"),
    ("code", "cat > event.json; ./guard.py < event.json"),
    ("code", "cat > event.json; cat event.json | ./guard.py"),
    ("code", 'read -r event; printf %s "$event" | ./guard.py'),
    ("code", 'event=$(cat); printf %s "$event" | ./guard.py'),
    ("code", "cat /dev/null > log.txt; ./guard.py"),
    ("code", "test -n '' && cat > /dev/null; ./guard.py"),
    ("code", "cat < /dev/null; ./guard.py"),
    ("reply", "./guard.py || true"),
    ("reply", "./guard.py || echo failed"),
    ("reply", "[ -x guard.py ] || echo missing; ./guard.py"),
    ("reply", "./guard.py > reply.json; cat reply.json"),
    ("reply", "./guard.py | tee log.txt"),
    ("hook file", "./guard.py || true"),
    ("code", "x=$(./guard.py)"),
    ("code", "x=`./guard.py`; exit $?"),
    ("code", 'x=$(./guard.py) && echo "$x"'),
    ("code", "bash -c './guard.py > >(cat)'"),
    ("code", "g() { ./guard.py; }; g"),
    ("code", "g() { ./guard.py || exit 2; }; g || true"),
    ("reply", 'x=$(./guard.py); echo "$x"'),
    ("reply", "echo `./guard.py`"),
    ("reply", 'if [ -n "$(./guard.py)" ]; then exit 2; fi'),
    ("reply", "bash -c 'cat < <(./guard.py)'"),
    ("reply", "g() { ./guard.py; }; g"),
    ("hook file", 'x=$(cat | ./guard.py); echo "$x"'),
]


@pytest.fixture
def try_line(project):
    """Return whether a line denies, the problems of `check`, and the health of the hook."""

    def run(kind, line):
        (project / "guard.py").write_text(SCRIPTS[kind])
        (project / "guard.py").chmod(0o755)
        handler = {"type": "command", "command": line}
        settings = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [handler]}]}}
        file = project / ".claude" / "settings.json"
        file.parent.mkdir()
        file.write_text(json.dumps(settings))
        event = BeforeTool(tool_name="Bash", tool_input={"command": "danger"}, cwd=str(project))
        options = {"agent": "claude", "trust_once": True, "on_message": lambda _text: None}
        with SyncEngine.load(project, **options) as engine:
            decision = engine.dispatch(event)
            problems = [finding.diagnostic.code for finding in find_problems([engine.engine])]
            (hook,) = anyhook.health(engine).hooks
        return decision.denied, "denial-lost" in problems, str(hook.word)

    return run


@pytest.mark.parametrize(("kind", "line"), fast_for(LOST, LOST[0], LOST[7], LOST[-1]))
def test_a_line_that_loses_the_denial_is_reported_and_broken(try_line, kind, line):
    assert try_line(kind, line) == (False, True, "broken")


@pytest.mark.parametrize(("kind", "line"), fast_for(KEPT, KEPT[0], KEPT[-1]))
def test_a_line_that_keeps_the_denial_is_not_reported(try_line, kind, line):
    assert try_line(kind, line) == (True, False, "unknown")

"""Guards that the tests try."""

from __future__ import annotations

import json
import stat

TUTORIAL = """\
import re

from anyhook.authoring import Hooks, deny

hooks = Hooks()
PATTERN = re.compile(r"rm\\s+-rf|git push --force")


@hooks.before_tool("shell")
def guard(event):
    if PATTERN.search(event.call.command):
        return deny("no")


hooks.example(tool="shell", input={"command": "rm -rf src"}, expect="deny")
hooks.example(tool="shell", input={"command": "git push --force origin main"}, expect="deny")
"""

EXACT = """\
from anyhook.authoring import Hooks, ask, deny

hooks = Hooks()
DENIED = {denied!r}


@hooks.before_tool("*")
def guard(event):
    if event.tool == "shell" and event.tool_input.get("command") in DENIED:
        return deny("no")
    if event.tool in ("write_file", "read_file") and event.call.file_path in DENIED:
        return {verdict}("no")
"""

HOLE = """\
import re

from anyhook.authoring import Hooks, deny

hooks = Hooks()


@hooks.before_tool("*")
def guard(event):
    command = event.tool_input.get("command", "")
    if not re.search({hole!r}, command if isinstance(command, str) else repr(command)):
        return deny("no")
"""

HOLES = {
    "quotes": r"^r''m",
    "backslash": r"^\\",
    "letters by number": r"\$'\\x72",
    "blanks": "\t",
    "field separator": r"\$\{IFS\}",
    "braces": r"^\{rm,",
    "variable": r"^\w+=rm;",
    "substitution": "rev",
    "file pattern": r"^/bin/r\[m\]",
    "encoding": "base64 .*sh$",
    "eval": "^eval ",
    "nested shell": "^bash -c",
    "here-document": "<<-END",
    "wrapper": "^env -S",
    "redirect": "^2>&1",
    "program path": "^/bin/rm ",
    "function": r"^function \w+",
    "trap": "USR1",
    "interpreter": "^perl -e",
    "option": "^rm -r src$",
    "directory": "^cd / ",
    "other program": "-delete$",
    "list of words": r"^\['sh'",
}
"""Class to the pattern of the only lines that a guard does not stop."""

SCRIPT = """\
#!/bin/sh
read -r line
echo "$line" >> seen.txt
case $line in *'rm -rf'*) echo 'no' >&2; exit 2;; esac
"""


def write_exact(path, *denied, verdict="deny"):
    """Write a hook file that denies some lines and files in one spelling only."""
    path.write_text(EXACT.format(denied=list(denied), verdict=verdict), encoding="utf-8")
    return str(path)


def write_with_hole(path, hole):
    """Write a hook file that stops everything but the lines that a pattern matches."""
    path.write_text(HOLE.format(hole=hole), encoding="utf-8")
    return str(path)


def write_configured(project):
    """Write a guard in shell, and settings of Claude Code that name it."""
    script = project / "guard.sh"
    script.write_text(SCRIPT, encoding="utf-8")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    hook = {"type": "command", "command": "$CLAUDE_PROJECT_DIR/guard.sh"}
    settings = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}}
    (project / ".claude").mkdir()
    (project / ".claude" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    return script

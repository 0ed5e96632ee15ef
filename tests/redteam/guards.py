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

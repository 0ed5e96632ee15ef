"""Runs pip through uv."""

import json
import sys

event = json.load(sys.stdin)
command = event["tool_input"]["command"]
if command.startswith("pip install"):
    print(json.dumps({"hookSpecificOutput": {"tool_input": {"command": f"uv {command}"}}}))

"""The guard with what Python brings."""

import json
import re
import sys

KEY = re.compile("AKIA[0-9A-Z]{16}")

event = json.load(sys.stdin)
given = event["tool_input"]
text = given.get("command", "") + given.get("content", "")
if event["tool_name"] in ("Bash", "Write") and KEY.search(text):
    specific = {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": "that looks like an AWS key",
    }
    print(json.dumps({"hookSpecificOutput": specific}))

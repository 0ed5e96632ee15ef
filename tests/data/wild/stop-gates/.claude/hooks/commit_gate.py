"""No commit while tests fail; asks before anything leaves the machine."""

import json
import os
import sys

event = json.load(sys.stdin)
command = event["tool_input"]["command"]
failing = os.path.join(os.environ["CLAUDE_PROJECT_DIR"], "tests", "failing.txt")
decision = None
if command.startswith("git commit") and os.path.getsize(failing):
    decision = ("deny", "tests fail")
elif command.startswith("git push"):
    decision = ("ask", "push, really?")
elif command == "git status":
    decision = ("allow", "it only looks")
if decision:
    specific = {
        "hookEventName": "PreToolUse",
        "permissionDecision": decision[0],
        "permissionDecisionReason": decision[1],
    }
    print(json.dumps({"hookSpecificOutput": specific, "suppressOutput": True}))

# /// script
# requires-python = ">=3.9"
# ///
"""Tells the agent where it is when a session starts."""

import json
import sys

event = json.load(sys.stdin)
text = f"Session started by {event.get('source', 'somebody')}; read NOTES.md first."
answer = {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": text}}
print(json.dumps(answer))

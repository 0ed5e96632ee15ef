# /// script
# requires-python = ">=3.9"
# ///
"""Adds a fact or two to each prompt, and stops prompts that hold a password."""

import json
import sys

event = json.load(sys.stdin)
prompt = event.get("prompt", "")
if "password" in prompt.lower():
    print(json.dumps({"decision": "block", "reason": "the prompt holds a password"}))
    sys.exit(0)
if "--with-branch" in sys.argv:
    print("Branch: main")
print("House rule: small commits")

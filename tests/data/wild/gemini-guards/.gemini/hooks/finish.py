"""Sends the agent back once if it left the tests out."""

import json
import sys

event = json.load(sys.stdin)
if "did not run" in event["prompt_response"] and not event["stop_hook_active"]:
    print(json.dumps({"decision": "deny", "reason": "run the tests"}))
else:
    print(json.dumps({"decision": "allow"}))

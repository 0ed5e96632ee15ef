"""Masks passwords in what the model says."""

import json
import sys

response = json.load(sys.stdin)["llm_response"]
masked = json.loads(json.dumps(response).replace("hunter2", "*******"))
if masked != response:
    print(
        json.dumps({"hookSpecificOutput": {"hookEventName": "AfterModel", "llm_response": masked}})
    )

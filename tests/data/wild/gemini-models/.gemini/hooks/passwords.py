"""No password goes to the model."""

import json
import sys

request = json.load(sys.stdin)["llm_request"]
if "password" in json.dumps(request["messages"]):
    print(json.dumps({"decision": "deny", "reason": "there is a password in it"}))

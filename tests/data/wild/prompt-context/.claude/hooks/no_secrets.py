import json
import re
import sys

prompt = json.load(sys.stdin).get("prompt", "")
if re.search(r"sk-[a-z]{3}-|AKIA[0-9A-Z]{16}", prompt):
    print("the prompt holds a key", file=sys.stderr)
    sys.exit(2)
if "start over" in prompt:
    print(json.dumps({"continue": False, "stopReason": "not on a Friday"}))

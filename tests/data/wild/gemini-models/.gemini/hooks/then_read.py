"""What was written is read at once."""

import json
import sys

path = json.load(sys.stdin)["tool_input"]["file_path"]
if path.endswith("app.py"):
    request = {"name": "read_file", "args": {"file_path": path}}
    print(json.dumps({"hookSpecificOutput": {"tailToolCallRequest": request}}))

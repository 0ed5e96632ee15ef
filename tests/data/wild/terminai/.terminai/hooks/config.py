import json
import sys

event = json.load(sys.stdin)
if "/config/" in event["tool_input"]["file_path"]:
    print("the configuration is not yours", file=sys.stderr)
    sys.exit(2)

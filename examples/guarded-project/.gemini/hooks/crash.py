"""A hook with a bug: this field is not in the payload."""

import json
import sys

event = json.load(sys.stdin)
print(event["tool_arguments"])

"""An agent that says that it left something out is asked to do it."""

import json
import re
import sys

event = json.load(sys.stdin)
last = event.get("last_assistant_message") or ""
if not event.get("stop_hook_active") and re.search(r"did not run|TODO|left out", last):
    print(json.dumps({"decision": "block", "reason": "You said what is missing. Do it."}))

"""The guard with cchooks."""

import re

from cchooks import PreToolUseContext, create_context

KEY = re.compile("AKIA[0-9A-Z]{16}")

event = create_context()
if isinstance(event, PreToolUseContext) and event.tool_name in ("Bash", "Write"):
    given = event.tool_input
    if KEY.search(given.get("command", "") + given.get("content", "")):
        event.output.deny("that looks like an AWS key")

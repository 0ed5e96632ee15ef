#!/usr/bin/env python3
"""Denies writing what looks like a secret. Answers with JSON."""

import json
import re
import sys

SECRETS = {
    "an AWS access key": re.compile(r"AKIA[0-9A-Z]{16}"),
    "a GitHub token": re.compile(r"gh[pousr]_[A-Za-z0-9]{36,}"),
    "a private key": re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
}

event = json.load(sys.stdin)
text = json.dumps(event["tool_input"])
found = [name for name, pattern in SECRETS.items() if pattern.search(text)]
if found:
    reason = f"That holds {' and '.join(found)}. Read it from the environment instead."
    print(json.dumps({"decision": "deny", "reason": reason}))

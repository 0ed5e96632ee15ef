#!/usr/bin/env python3
"""Denies commands that hold all words of a pattern, in order."""

import json
import sys

command = json.load(sys.stdin)["tool_input"]["command"]
at = 0
for word in sys.argv[2].replace("*", " ").split():
    at = command.find(word, at)
    if at < 0:
        sys.exit(0)
print(f"{sys.argv[1]} {sys.argv[2]}: {sys.argv[3]}", file=sys.stderr)
sys.exit(2)

#!/usr/bin/env python3
"""Lock files are written by their tools."""

import json
import os
import sys

event = json.load(sys.stdin)
path = event["tool_input"].get("file_path", "")
inside = os.path.relpath(path, os.environ["CLAUDE_PROJECT_DIR"])
if os.path.basename(inside) in {"package-lock.json", "uv.lock", "Cargo.lock"}:
    print(f"{inside} is written by its tool", file=sys.stderr)
    sys.exit(2)

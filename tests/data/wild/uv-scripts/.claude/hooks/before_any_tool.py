#!/usr/bin/env -S uv run --script
# /// script
# requires-python = ">=3.9"
# dependencies = []
# ///
"""Keeps the agent away from recursive deletes and from secrets in dotenv files."""

import json
import re
import sys


def deletes_a_tree(command):
    words = re.sub(r"\s+", " ", command.lower())
    return re.search(r"\brm\s+.*-[a-z]*r[a-z]*f|\brm\s+.*-[a-z]*f[a-z]*r", words) is not None


def touches_secrets(tool, arguments):
    if tool in ("Read", "Edit", "MultiEdit", "Write"):
        path = arguments.get("file_path", "")
        return path.endswith(".env") or "/.env." in path
    return tool == "Bash" and re.search(
        r"(^|[\s/])\.env\b(?!\.sample)", arguments.get("command", "")
    )


def main():
    try:
        event = json.load(sys.stdin)
    except json.JSONDecodeError:
        return 0
    tool, arguments = event.get("tool_name", ""), event.get("tool_input", {})
    if touches_secrets(tool, arguments):
        print("BLOCKED: dotenv files hold secrets; look at .env.sample", file=sys.stderr)
        return 2
    if tool == "Bash" and deletes_a_tree(arguments.get("command", "")):
        print("BLOCKED: no recursive deletes", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

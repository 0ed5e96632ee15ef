"""A stand-in for the program of Claude Code: it asks the model, runs hooks, and runs tools.

    python stand_in.py -p PROMPT …

It knows the matchers of one tool or of all, exit code 2, and `updatedInput`. Like Claude Code, it
runs equal commands of an event once.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

VERSION = "2.1.330"
SETTINGS = Path(".claude/settings.json")


def ask(messages):
    """Return the content of the model's next turn."""
    body = {"model": "any", "messages": messages, "tools": [{"name": "Bash"}]}
    request = urllib.request.Request(
        os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as response:
        return json.load(response)["content"]


def run_hooks(event, payload):
    """Run the hooks of an event. Returns the reason of a denial and the last new input."""
    hooks = json.loads(SETTINGS.read_text())["hooks"]
    commands = []
    for group in hooks.get(event, ()):
        if re.fullmatch(group.get("matcher") or ".*", payload.get("tool_name", "")):
            commands += [hook["command"] for hook in group["hooks"]]
    reason, new_input = None, None
    for command in dict.fromkeys(commands):
        done = subprocess.run(
            command,
            shell=True,
            input=json.dumps({**payload, "hook_event_name": event}),
            text=True,
            capture_output=True,
            check=False,
        )
        if done.returncode == 2:
            reason = done.stderr
        elif done.stdout.startswith("{"):
            reply = json.loads(done.stdout)["hookSpecificOutput"]
            new_input = reply.get("updatedInput", new_input)
    return reason, new_input


def call(block, *, names_calls):
    """Run a tool between its hooks. Returns its result."""
    payload = {"session_id": "s", "cwd": os.getcwd(), "tool_name": block["name"]}
    if names_calls:
        payload["tool_use_id"] = block["id"]
    arguments = block["input"]
    reason, new_input = run_hooks("PreToolUse", {**payload, "tool_input": arguments})
    if reason is not None:
        return reason
    arguments = new_input or arguments
    result = "done"
    if block["name"] == "Bash":
        command = ["sh", "-c", arguments["command"]]
        done = subprocess.run(command, text=True, capture_output=True, check=False)
        result = done.stdout + done.stderr
    elif block["name"] == "Write":
        Path(arguments["file_path"]).write_text(arguments["content"])
    run_hooks("PostToolUse", {**payload, "tool_input": arguments, "tool_response": result})
    return result


def main():
    """Work on one prompt."""
    if "--version" in sys.argv:
        sys.stdout.write(f"{VERSION} (stand-in)\n")
        return
    names_calls = "--without-identifiers" not in sys.argv
    messages = [{"role": "user", "content": "the prompt"}]
    while True:
        content = ask(messages)
        messages.append({"role": "assistant", "content": content})
        blocks = [block for block in content if block["type"] == "tool_use"]
        if not blocks:
            return
        results = [
            {
                "type": "tool_result",
                "tool_use_id": block["id"],
                "content": call(block, names_calls=names_calls),
            }
            for block in blocks
        ]
        messages.append({"role": "user", "content": results})


if __name__ == "__main__":
    main()

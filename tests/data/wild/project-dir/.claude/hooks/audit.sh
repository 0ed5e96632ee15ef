#!/bin/sh
# Keeps a list of what ran.
mkdir -p "$CLAUDE_PROJECT_DIR/.claude/audit"
jq -r '.tool_input.command // "nothing"' >> "$CLAUDE_PROJECT_DIR/.claude/audit/commands.txt"

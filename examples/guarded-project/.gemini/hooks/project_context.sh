#!/usr/bin/env bash
# Adds what the agent should know to every prompt.
files=$(find src -type f | wc -l | tr -d ' ')
cat <<JSON
{"hookSpecificOutput": {"hookEventName": "BeforeAgent",
 "additionalContext": "A small web shop in Python; $files source file(s); tests run with: make test"}}
JSON

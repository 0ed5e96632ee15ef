#!/usr/bin/env bash
# Adds what the project remembers; stops prompts that start over.
prompt=$(jq -r '.prompt // empty')
case "$prompt" in
  *"start over"*) echo '{"decision": "deny", "reason": "we never start over"}' ;;
  *) echo '{"hookSpecificOutput": {"hookEventName": "BeforeAgent", "additionalContext": "We use tabs."}}' ;;
esac

#!/bin/sh
# Reminds of the migration list after migrations ran.
command=$(jq -r '.tool_input.command // empty')
case "$command" in
  *"pytest"*)
    printf '%s\n' '{"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "Write the result into TESTS.md."}}'
    ;;
esac

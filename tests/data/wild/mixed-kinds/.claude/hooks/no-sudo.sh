# Nothing runs as root.
jq -r '.tool_input.command // empty' | grep -q '^sudo ' || exit 0
echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "not as root"}}'

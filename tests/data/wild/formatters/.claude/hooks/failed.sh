# A word of advice after a command that failed.
cat > /dev/null
echo '{"hookSpecificOutput": {"hookEventName": "PostToolUseFailure", "additionalContext": "Read the whole error before you try again."}}'

# Points at the skill that fits the prompt.
prompt=$(jq -r '.prompt // empty')
if printf '%s' "$prompt" | grep -qi 'explain'; then
  cat <<'TEXT'
{"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "There is a skill for that: explain-code"}}
TEXT
fi

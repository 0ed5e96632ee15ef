#!/usr/bin/env bash
# Tells the agent what the linter has to say.
file=$(jq -r '.tool_input.file_path // empty')
[[ $file == *.ts ]] || exit 0
if ! complaints=$(npx eslint "$file" 2>&1); then
  jq -n --arg reason "$complaints" '{decision: "block", reason: $reason}'
fi

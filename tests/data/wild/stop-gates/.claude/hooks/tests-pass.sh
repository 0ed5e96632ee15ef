#!/bin/bash
# The agent may stop when the tests pass, or when it was sent back already.
input=$(cat)
if [ "$(jq -r '.stop_hook_active // false' <<<"$input")" = "true" ]; then
  exit 0
fi
cd "$CLAUDE_PROJECT_DIR" || exit 0
if [ -s tests/failing.txt ]; then
  echo "Tests fail: $(cat tests/failing.txt)" >&2
  exit 2
fi

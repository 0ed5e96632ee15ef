#!/bin/bash
# Nobody pushes by force.
set -euo pipefail
input=$(cat)
command=$(jq -r '.tool_input.command // empty' <<<"$input")
if [[ $command =~ git[[:space:]]+push.*(--force|-f)([[:space:]]|$) ]]; then
  echo "Force pushes rewrite what others have: open a pull request." >&2
  exit 2
fi
exit 0

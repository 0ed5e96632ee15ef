#!/usr/bin/env bash
# Denies with exit code 2: what is on standard error goes to the agent.
payload=$(cat)

if [[ $payload =~ rm[[:space:]]+-[a-zA-Z]*[rf] || $payload =~ mkfs|dd[[:space:]]+if= ]]; then
  echo "Deleting whole trees is not allowed here; name the files." >&2
  exit 2
fi
if [[ $payload =~ git[[:space:]]+push ]]; then
  echo '{"decision": "ask", "reason": "This publishes your work."}'
fi

#!/bin/sh
# Images and volumes stay.
if jq -r '.tool_input.command // empty' | grep -q 'prune'; then
  echo '{"decision": "deny", "reason": "volumes stay"}'
else
  echo '{"decision": "allow"}'
fi

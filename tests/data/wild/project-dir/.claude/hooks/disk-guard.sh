#!/bin/bash
# Says no in JSON to what writes over a disk.
command=$(jq -r '.tool_input.command // empty')
case "$command" in
  dd\ * | *"mkfs"*)
    jq -n --arg reason "That would write over a disk." '{
      hookSpecificOutput: {
        hookEventName: "PreToolUse",
        permissionDecision: "deny",
        permissionDecisionReason: $reason
      }
    }'
    ;;
esac

#!/usr/bin/env bash
# Denies commands with one of the words.
command=$(jq -r '.tool_input.command // empty')
for word in $WORDS; do
  case " $command " in
    *" $word "*)
      echo "$word is not allowed" >&2
      exit 2
      ;;
  esac
done
echo "nothing to say" >&2
exit 0

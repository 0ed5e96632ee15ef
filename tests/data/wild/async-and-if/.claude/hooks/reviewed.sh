#!/bin/sh
# A push needs a review of what is pushed.
cat > /dev/null
[ -f "$CLAUDE_PROJECT_DIR/.reviewed" ] && exit 0
echo "review it first" >&2
exit 2

"""One event through the hooks: match, plan, run, combine."""

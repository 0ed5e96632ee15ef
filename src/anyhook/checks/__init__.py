"""What `anyhook check` looks for in settings and scripts: `rules.py` has the table of all rules."""

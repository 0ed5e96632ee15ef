"""The views of `anyhook ui`, which are served, and of `anyhook history report`, a file."""

"""Guards to start from: one hook file each, which `anyhook add NAME` copies into a project."""

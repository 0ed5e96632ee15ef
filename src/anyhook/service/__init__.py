"""What answers events as a program of its own: warm workers, and an HTTP endpoint."""

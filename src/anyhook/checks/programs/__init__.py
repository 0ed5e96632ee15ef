"""Programs that interpreters run to check scripts; see `anyhook.checks.interpreters`."""

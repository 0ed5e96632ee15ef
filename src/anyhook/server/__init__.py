"""Answer hook events over HTTP."""

"""Warm execution: a running worker answers events for hook files that it has loaded."""

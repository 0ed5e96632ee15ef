"""Frozen values that the whole house shares. No files, no clock, no event loop."""

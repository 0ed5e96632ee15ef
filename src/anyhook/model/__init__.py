"""Frozen values that the whole house shares. No I/O, no clock, no event loop."""

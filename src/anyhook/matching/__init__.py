"""Matchers on the subject of an event, and conditions on tool calls."""

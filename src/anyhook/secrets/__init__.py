"""Secrets: one table of what is secret, and one function that finds it in a text."""

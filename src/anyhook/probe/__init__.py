"""Trying hooks in the agents that are installed, offline, with a scripted model."""

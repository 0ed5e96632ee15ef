"""Settings and scripts from one agent to another, with proof that they still decide the same."""

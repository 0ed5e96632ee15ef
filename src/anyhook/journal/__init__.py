"""What hooks and engines append when they are recorded: one line each, freed of secrets."""

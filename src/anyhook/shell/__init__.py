"""Everything that reads or writes a command line."""

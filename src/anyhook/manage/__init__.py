"""What a person asks about hooks and does with them. These functions print nothing."""

"""What hooks would have decided on recorded events."""

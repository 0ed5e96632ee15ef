"""Every figure that the README claims."""

"""What goes on running: workers that keep hook files loaded, and an HTTP endpoint."""

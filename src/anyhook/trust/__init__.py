"""Which hooks of a project may run: trust that is bound to what they are made of."""

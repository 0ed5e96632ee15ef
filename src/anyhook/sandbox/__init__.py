"""One place in which hooks are tried: they can change nothing of the user's."""

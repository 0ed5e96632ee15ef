"""Child processes: start, feed, watch and end them."""

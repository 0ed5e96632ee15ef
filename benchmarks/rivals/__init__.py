"""One guard, written in every way that people write hooks: it denies what holds an AWS key."""

"""What gets past a guard: spellings of what it denies, proved equal by running them."""

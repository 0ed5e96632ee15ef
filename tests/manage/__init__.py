"""What a person does with hooks."""

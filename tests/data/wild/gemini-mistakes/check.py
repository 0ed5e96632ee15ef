# Looks at nothing yet.

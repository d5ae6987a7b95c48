"""What the wire looks like, kept as files: one for each profile and case."""

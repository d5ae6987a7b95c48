"""Which targets, in which order."""

"""May this caller do this, now? Cheapest refusal first."""

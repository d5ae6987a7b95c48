"""The audit log, and the history of one thing beside its form."""

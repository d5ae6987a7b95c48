"""What calls are charged, against the provider's own book: every endpoint, unit and dialect."""

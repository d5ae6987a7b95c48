"""POST /moderations."""

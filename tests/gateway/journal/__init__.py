"""What calls leave behind."""

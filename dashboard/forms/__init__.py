"""What the forms of several features share."""

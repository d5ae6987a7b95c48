"""POST /images/generations."""

"""Read models for pages and API."""

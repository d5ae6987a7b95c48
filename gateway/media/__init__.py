"""Media in requests: what type bytes are, data: URLs, the size of a picture."""

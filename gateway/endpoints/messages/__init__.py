"""POST /messages, in Anthropic's format."""

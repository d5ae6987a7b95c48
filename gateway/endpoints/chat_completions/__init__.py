"""POST /chat/completions, in OpenAI's format."""

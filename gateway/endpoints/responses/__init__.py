"""POST /responses: OpenAI's Responses format in and out, on the operation `chat`."""

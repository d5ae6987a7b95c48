"""Voyage AI. Its embeddings are asked for as OpenAI's are."""

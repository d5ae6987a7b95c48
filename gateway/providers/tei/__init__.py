"""Text Embeddings Inference. Its embeddings are asked for as OpenAI's are."""

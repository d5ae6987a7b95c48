"""OpenAI's endpoints beside chat completions and embeddings, as the fake upstream speaks them."""

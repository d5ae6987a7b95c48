"""POST /embeddings."""

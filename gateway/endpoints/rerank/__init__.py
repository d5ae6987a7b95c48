"""POST /rerank."""

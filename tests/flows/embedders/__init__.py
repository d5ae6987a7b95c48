"""Flows of providers that have embeddings and rankings alone."""

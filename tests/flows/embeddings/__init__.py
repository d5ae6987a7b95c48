"""Calls for embeddings over real sockets."""

"""Calls for text completions over real sockets."""

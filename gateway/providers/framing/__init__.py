"""Framings of streamed answers: bytes to frames."""

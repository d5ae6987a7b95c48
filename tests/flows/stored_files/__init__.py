"""Stored files: uploaded, listed, read, deleted and sent to models."""

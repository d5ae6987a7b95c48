"""Stored files: written, read, deleted and cleaned up."""

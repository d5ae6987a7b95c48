"""Batches of a workspace: how far they are, and their results."""

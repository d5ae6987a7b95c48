"""Batches: created, checked, worked off, and their results written."""

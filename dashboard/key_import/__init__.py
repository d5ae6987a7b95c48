"""Importing keys that were issued elsewhere."""

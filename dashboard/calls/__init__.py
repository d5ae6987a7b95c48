"""Calls: the list, its filters, its file, and one call explained."""

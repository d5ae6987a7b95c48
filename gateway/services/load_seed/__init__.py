"""Fills a database for load tests: workspaces, keys, and calls with their money and totals.

What it writes is what the product would have written, so `prove` holds and pages are right. The
same seed gives the same data, but for the moments, secrets and passwords.
"""

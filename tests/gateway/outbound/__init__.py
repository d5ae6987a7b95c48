"""Requests to addresses that others chose."""

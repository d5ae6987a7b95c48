"""Calls to Cohere's Chat API."""

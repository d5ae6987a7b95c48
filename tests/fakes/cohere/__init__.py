"""Cohere's Chat API, version 2, as the fake upstream speaks it."""

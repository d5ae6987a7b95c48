"""Prices that providers publish, as the package genai-prices has them: read, imported, applied."""

"""Calls to OpenAI's models on Azure."""

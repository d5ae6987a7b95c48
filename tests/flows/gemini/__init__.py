"""Calls that Gemini answers."""

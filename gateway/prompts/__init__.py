"""Prompt templates: what they may say, and what becomes of it (docs/adr/0026)."""

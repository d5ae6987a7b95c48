"""Prompt templates: parsing, checking and rendering them (docs/adr/0026)."""

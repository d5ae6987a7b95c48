"""Processors of a workspace: mandatory ones, services of its own, and a text to try."""

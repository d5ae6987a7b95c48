"""Accepting an invitation."""

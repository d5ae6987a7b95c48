"""Tests of people, workspaces and the rule book."""

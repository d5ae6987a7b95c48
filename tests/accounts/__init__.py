"""Tests of people, workspaces and the permission rules."""

"""Budgets of workspaces, members and keys: what is spent and left, and raises."""

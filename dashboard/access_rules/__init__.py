"""The access rules of a workspace."""

"""The settings of a workspace."""

"""The members of a workspace, and inviting more."""

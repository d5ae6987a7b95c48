"""The keys of a workspace: list, create, edit, revoke."""

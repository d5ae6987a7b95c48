"""The limits of a workspace, its members and its keys, and those of the installation."""

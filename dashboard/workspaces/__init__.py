"""The workspaces of the installation, and old addresses that name none."""

"""The files of a workspace: list, upload, download, delete, and how much may be stored."""

"""The first page of a workspace: figures of a period, and its errors."""

"""The MCP servers of a workspace."""

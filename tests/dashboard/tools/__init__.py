"""Pages of server tools."""

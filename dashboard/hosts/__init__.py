"""The server processes of all hosts, and journals that are missing."""

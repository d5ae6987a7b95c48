"""The serving processes of all hosts, and journals that are missing."""

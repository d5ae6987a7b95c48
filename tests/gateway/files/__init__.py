"""Files that are fetched or converted for calls."""

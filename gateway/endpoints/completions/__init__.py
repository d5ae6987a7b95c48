"""POST /completions."""

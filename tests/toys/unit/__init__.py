"""A metered unit that the product does not have: audio tokens of a prompt, at their own price."""

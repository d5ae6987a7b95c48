"""What callers hold: API keys and the rules on them."""

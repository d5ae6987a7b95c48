"""What targets are shown: several credentials in turn, and tokens that are made of accounts."""

"""The clients people use, unchanged, against a live server: what they need is the contract."""

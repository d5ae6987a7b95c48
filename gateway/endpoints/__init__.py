"""What callers may ask for: one folder per endpoint, the same file names inside."""

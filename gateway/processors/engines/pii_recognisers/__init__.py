"""What finds personal data in texts: a file for each kind of data."""

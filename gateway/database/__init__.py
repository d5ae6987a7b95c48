"""What Django leaves to us of a database: tables in partitions, and one program at a time."""

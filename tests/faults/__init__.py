"""What happens when things are taken away: the server, the database, the disk."""

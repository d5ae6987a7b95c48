"""What reads the database and does not stream, as REST framework views."""

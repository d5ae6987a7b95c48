"""The most that keys made by developers may do."""

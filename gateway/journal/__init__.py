"""What happened, as it happens: the append-only file of a process (docs/adr/0009)."""

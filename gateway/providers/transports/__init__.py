"""How requests reach providers: a contract, and what keeps it."""

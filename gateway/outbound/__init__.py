"""HTTP that leaves the machine for addresses that somebody else chose: checked at every step."""

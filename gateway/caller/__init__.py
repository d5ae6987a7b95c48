"""The caller's side of a call: what is read from it, and how its answer is sent."""

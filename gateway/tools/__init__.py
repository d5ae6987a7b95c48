"""Tools that the gateway runs for a model: a loop, and a file and a row for each."""

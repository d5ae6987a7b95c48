"""Which past calls a set of limit rules would have refused. Reads only."""

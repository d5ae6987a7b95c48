"""The bridge between the data plane and the database; seen by wiring alone."""

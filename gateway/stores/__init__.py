"""The data plane's access to the database. Only wiring and services import it."""

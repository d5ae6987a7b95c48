"""The vocabulary of the data plane: frozen values, no I/O, standard library and msgspec only."""

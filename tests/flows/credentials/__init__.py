"""Several credentials of a provider, and those that tokens are made of, over real sockets."""

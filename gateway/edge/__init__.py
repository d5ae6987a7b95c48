"""The HTTP protocol of the server: invalid requests are refused before any application runs."""

"""Steps on a request, on a whole answer, or on a stream of events: a file and a row each."""

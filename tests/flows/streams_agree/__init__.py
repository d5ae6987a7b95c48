"""Streams and whole answers agree: in every format of callers, for every dialect of providers."""

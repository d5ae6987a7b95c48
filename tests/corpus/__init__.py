"""Abuse and bad input: lines of data, walked by tests over raw sockets against real servers."""

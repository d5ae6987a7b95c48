"""Engines for tests, each with a fault that it shows when it is asked to."""

"""Tests of the catalogue and of what the hot path is handed."""

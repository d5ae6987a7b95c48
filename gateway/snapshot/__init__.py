"""Configuration as the hot path sees it: immutable, swapped whole."""

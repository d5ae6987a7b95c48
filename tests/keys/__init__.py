"""Tests of keys and the rules on them."""

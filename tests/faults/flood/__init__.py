"""Floods against a running gateway, and what a well-behaved caller notices of them."""

"""Tests of gateway.edge."""

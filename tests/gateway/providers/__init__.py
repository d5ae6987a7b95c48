"""Tests of gateway.providers."""

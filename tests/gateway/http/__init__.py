"""Tests of gateway.http."""

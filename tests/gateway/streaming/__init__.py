"""Tests of gateway.streaming."""

"""Tests of gateway.admission."""

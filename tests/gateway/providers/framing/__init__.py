"""Tests of gateway.providers.framing."""

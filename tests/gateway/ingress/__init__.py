"""Tests of gateway.ingress."""

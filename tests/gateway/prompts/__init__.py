"""Tests of gateway.prompts."""

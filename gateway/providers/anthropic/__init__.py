"""Anthropic's Messages API, version 2023-06-01."""

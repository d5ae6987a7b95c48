"""Calls that Anthropic's Messages API serves."""

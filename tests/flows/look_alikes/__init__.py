"""Calls to providers that speak OpenAI's API, each with the strictness of the real one."""

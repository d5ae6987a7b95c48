"""Requests and responses of pages: the workspace in view, addresses, queries, htmx, middleware."""

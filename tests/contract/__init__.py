"""The OpenAPI document, held against a running gateway by Schemathesis."""

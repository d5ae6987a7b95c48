"""The only writers of the gateway's models."""

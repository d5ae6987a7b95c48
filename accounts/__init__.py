"""Workspaces, people and roles; and the ledger of what each workspace owns."""

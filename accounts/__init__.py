"""Who: workspaces, people, roles; and the ledger of what each workspace owns."""

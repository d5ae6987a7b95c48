"""Who: workspaces, people, roles; and the book of what each workspace owns."""

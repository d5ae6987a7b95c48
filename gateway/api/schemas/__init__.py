"""What the API answers with, a module per resource: types that encode and document."""

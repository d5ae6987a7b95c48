"""Who issues tokens, and a provider that knows whom it lets in."""

"""One's own account: signing in and out, name, password, second factors."""

"""What gateway.settings needs before Django is there: the environment, the home, logs."""

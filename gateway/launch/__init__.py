"""What `manage.py up` does, in order: check, prepare, start, watch, stop."""

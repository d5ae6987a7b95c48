"""`manage.py up`: what it checks, seeds, starts, watches and stops."""

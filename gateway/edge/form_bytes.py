"""How long a form or the JSON of the management API may be."""

KB = 1024
# Django's own limit is the same (gateway.settings).
FORM_BYTES = 256 * KB

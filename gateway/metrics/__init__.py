"""What operators watch: counts of this process as Prometheus reads them, and its probes.

Off unless a setting asks for it. Calls add a few integers each (call_totals); all the rest is read
from what the process knows anyway, when somebody asks.
"""

"""Measures the gateway on one core: `make bench`, or `python -m bench`. See docs/performance.md."""

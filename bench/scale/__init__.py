"""Tuples a second with 1 to 10,000 synopses: `python -m bench.scale`."""

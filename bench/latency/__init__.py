"""Seconds from a question to its answer: `python -m bench.latency`."""

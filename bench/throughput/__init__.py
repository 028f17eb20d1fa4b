"""Tuples a second, beside what a user would pick instead: `python -m bench.throughput`."""

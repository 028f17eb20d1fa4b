"""Random kills under load, and the time it takes to recover: `python -m bench.faults`."""

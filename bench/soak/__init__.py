"""Everything at once for a long time, and whether it grows: `python -m bench.soak`."""

"""Messages that should not be there, on every topic of a real engine: `python -m bench.poison`."""

"""What each kind promises, against what it does: `python -m bench.accuracy`."""

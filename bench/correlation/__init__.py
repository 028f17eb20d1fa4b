"""Which of thousands of stocks move together: `python -m bench.correlation`."""

"""Updates a second of each kind, beside what else there is: `python -m bench.kernels`."""

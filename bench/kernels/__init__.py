"""Updates a second of each kind, beside what else there is: `python -m bench.kernels`."""

import os

# One core for everybody: threads of numpy's BLAS would only wait for each other, at numpy's cost.
# It is read when numpy is imported, which is after this.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

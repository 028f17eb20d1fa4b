"""What an engine loads before Spark's JVM is started: each second of it is one of its start."""

import subprocess
import sys


def test_the_process_of_an_engine_starts_without_numba_and_pandas():
    code = "import sys, service.__main__; print(*({'numba', 'pandas', 'scipy'} & set(sys.modules)))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == ""

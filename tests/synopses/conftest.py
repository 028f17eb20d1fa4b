"""Naive twins and inputs lie beside the tests that import them; chance is the same every time."""

import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

# No deadline: the first call of a kernel may have to compile it.
settings.register_profile("library", deadline=None, derandomize=True)
settings.load_profile("library")

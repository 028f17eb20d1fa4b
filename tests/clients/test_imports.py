"""What a client needs, and no more."""

import subprocess
import sys

HEAVY = ("pyspark", "numba", "numpy", "pandas", "pyarrow", "synopses", "service")


def test_importing_the_client_and_its_command_line_is_light() -> None:
    code = f"import sys, clients.cli; print(*(set({HEAVY}) & set(sys.modules)))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == ""


def test_tables_without_pyarrow_name_the_extra_to_install() -> None:
    code = """
import sys
sys.modules["pyarrow"] = None
import clients
try:
    clients.Client(clients.InMemoryTransport()).send_table("d", object())
except clients.MissingExtra as error:
    print(error)
"""
    printed = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert "pip install 'synopses-data-engine[tables]'" in printed

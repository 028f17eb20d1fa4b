"""The command line `sde`."""

from clients.cli.main import main

__all__ = ["main"]

"""`python -m clients.cli` is `sde`."""

from clients.cli.main import main

main(prog_name="sde")

"""Measurements behind the README's figures; each is a module with a command line."""

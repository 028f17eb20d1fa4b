"""Plug-ins that are useful as they are: send one of these files to an engine, or write your own."""

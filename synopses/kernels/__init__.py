"""Compiled loops of the kinds: no checks, arrays in, arrays written."""

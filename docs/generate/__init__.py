"""Writes the generated pages of docs/ and the catalogue of kinds: `python -m docs.generate`."""

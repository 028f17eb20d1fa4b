"""Writes the generated pages of docs/ and the catalogue of kinds that clients read."""

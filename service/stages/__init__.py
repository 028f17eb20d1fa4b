"""Spark adapters of the three stages, and the rows that pass between them."""

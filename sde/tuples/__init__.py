"""Tuples as columns: what a block of a data set holds and what synopses read of it."""

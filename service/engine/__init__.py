"""A running engine: the query, and the threads that work beside it."""

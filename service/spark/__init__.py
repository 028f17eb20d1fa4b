"""Spark as the engine runs it: session, workers, class archive."""

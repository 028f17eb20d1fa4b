"""The way over HTTP: a gateway in the place of Kafka, with the standard library alone."""

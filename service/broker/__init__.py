"""The embedded Kafka broker: its jars, its process, the lock on its folder."""

"""The wiring: Spark, Kafka, the embedded broker. The only package that knows all of them."""

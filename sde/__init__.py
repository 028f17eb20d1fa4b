"""The engine's logic: messages, blocks, stages, shards. No Spark, no Kafka, no clock."""

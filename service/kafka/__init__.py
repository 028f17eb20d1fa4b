"""Kafka in and out: replayable ranges of messages, and replies written exactly once.

Spark starts a process for each step of planning; modules they import stay light. What decodes
and fetches is imported where it runs.
"""

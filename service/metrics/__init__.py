"""Metrics for Prometheus: what there is, declared in one place, and how it is written down."""

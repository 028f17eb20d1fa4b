"""The three stages, in the order of the flow: ingest, maintain, merge."""

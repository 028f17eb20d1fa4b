"""Bytes as nobody should send them, for `bench.fuzz_scanner` and tests; by seed always the same."""

"""One shard: its synopses, its durable form, and the versions kept of them."""

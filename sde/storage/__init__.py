"""Where a shard's arrays and facts rest: in memory, or in the files of an arena."""

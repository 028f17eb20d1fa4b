"""Which synopses, watches and clocks there are: the same in every shard."""

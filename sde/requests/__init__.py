"""What each request does at a shard, and what becomes of the partials it leaves."""

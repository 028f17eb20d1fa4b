"""One file for each kind of synopsis (two share one)."""

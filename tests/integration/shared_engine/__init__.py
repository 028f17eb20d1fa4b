"""A package, so that its engine ends with the last of its tests, not with the session."""

"""Three sites that answer together: what travels between them, and a demo of it."""

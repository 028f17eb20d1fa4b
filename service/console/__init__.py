"""The console in the browser: a page, its style and its modules, as the gateway serves them."""

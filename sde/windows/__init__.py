"""Windows: a synopsis for each pane, merged when somebody asks."""

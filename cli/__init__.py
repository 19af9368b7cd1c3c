"""The `tht` command: one module a command group, thin over the opened workspace."""

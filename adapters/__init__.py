"""What touches the world: the ledger on SQLite, Qdrant, embedders, import and export, the opened workspace."""

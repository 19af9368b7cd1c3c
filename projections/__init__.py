"""What can be read: each view follows from the ledger and can be deleted and replayed."""

"""The embedded index of a home among several processes: one holds it open, the others ask it. See ADR 19."""

"""Recall: what a question means, which voices answer it, and how their answers become one ranking."""

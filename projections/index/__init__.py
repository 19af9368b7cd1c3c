"""The vector index as a projection: its port, its texts and its catching up."""

"""Where the pages take the one search from."""

from adapters.searching import Asked, search

__all__ = ("Asked", "search")

"""The web pages that `tht serve` shows to people."""

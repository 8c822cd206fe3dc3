"""Losses where counts are known: neighbours differ in several records at once, as docs/neighbours.md says."""

"""What is asked: linear queries over the domain, never written out as a matrix."""

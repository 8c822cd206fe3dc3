"""Exact arithmetic: rationals, bounded exponentials and logarithms, zCDP conversions."""

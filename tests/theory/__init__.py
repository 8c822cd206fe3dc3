"""Theorems and closed forms of the papers that nothing a user calls needs: the tests hold the kernel to them.

`theorem_table` prints them beside the truth, for docs/known-counts.md.
"""

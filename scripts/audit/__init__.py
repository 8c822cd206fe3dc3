"""An audit with its own eyes: policies by chance, tables as bytes, neighbours as the documentation says they are.

Nothing here is taken from the rooms that are audited. Attributes, secrets, people, known counts and spellings are
written down again from `docs/policy-file.md`, `docs/promise.md`, `docs/neighbours.md` and `docs/engines.md`, and only
the answers come from Tetraodon: a plan, its certificate, and the exact answers that it counts in a CSV file.
"""

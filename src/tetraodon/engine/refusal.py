"""A refusal that depends on the records, so that refusing is itself something an observer could learn from."""

from __future__ import annotations

from tetraodon.errors import TableError


class DataRefusal(TableError):
    """The records, and not only the table's shape, made counting impossible.

    Why  the type is separate so that the caller can write the refusal into its log: unlike a missing
         column it says something about the data. It names a column at most.
    """

"""What every engine checks of the counts it is about to hand out."""

from __future__ import annotations

from tetraodon.domain import Domain
from tetraodon.engine.counts import Counts
from tetraodon.errors import DataRefusal
from tetraodon.whole_sums import MOST_ROWS


def require_sound(counted: Counts, domain: Domain) -> None:
    """Refuse an endless table, and never let a code out that the domain does not have."""
    if counted.total > MOST_ROWS:
        raise DataRefusal("the table has more rows than can be added up exactly", fix="release parts of it")
    for name, codes in zip(counted.names, counted.codes.T, strict=True):
        if len(codes) and (int(codes.min()) < 0 or int(codes.max()) >= domain[name].size):
            raise DataRefusal("a row was numbered outside the domain", fix="report this as a bug", where=name)

"""The one language of conditions: in items, in known figures, and in questions to releases and views.

`read.py` parses and checks a condition once, into a tree of whole numbers over codes, which `nodes.py` evaluates on
arrays or writes as SQL; `select.py` reads questions, which are conditions or SELECTs.
"""

from tetraodon.domain import Domain
from tetraodon.exact.arrays import Bools


def truth_table(condition: str, domain: Domain) -> tuple[tuple[str, ...], Bools]:
    """As `read.truth_table`, which is loaded on the first call: the parser loads longer than most plans take."""
    from tetraodon.query.condition import read

    return read.truth_table(condition, domain)

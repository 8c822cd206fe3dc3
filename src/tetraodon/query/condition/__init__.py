"""The one language of conditions: in items, in figures that are known, and in questions to releases and views.

A condition is parsed and checked once (`read.py`), becomes a tree of whole numbers over codes, and is
computed on arrays or in DuckDB (`nodes.py`); a question is a condition or a SELECT (`select.py`).

`truth_table` can be taken from here, and is loaded when it is first called: the parser takes longer to load than most
plans take to make.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tetraodon.query.condition.read import truth_table as truth_table

__all__ = ["truth_table"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tetraodon.query.condition import read

    return getattr(read, name)

"""What a curator may say that everybody knows of where records are. Nothing is looked at to check it."""

from __future__ import annotations

from tetraodon.errors import QueryError
from tetraodon.questions.query import Key

SPARSE = "sparse"
"""Most records are in few places."""


def shape_of(value: object) -> str:
    """A shape as it is written; empty where nothing is known.

    >>> shape_of("sparse"), shape_of("")
    ('sparse', '')
    """
    if value not in ("", SPARSE):
        raise QueryError("this is no shape of data that is known", fix=f"write `shape: {SPARSE}`, or leave it out")
    return str(value)


SHAPE = Key(shape_of, "", {"enum": [SPARSE]})

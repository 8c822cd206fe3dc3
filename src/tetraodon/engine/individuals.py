"""Who a row is about, and how many rows one individual may have."""

from __future__ import annotations

from dataclasses import dataclass

from tetraodon.errors import PolicyError


@dataclass(frozen=True, slots=True)
class Individuals:
    """`key` is the column that tells individuals apart; None says that every row is somebody else.

    With a key, at most `at_most` rows of each individual are counted: the first ones in the order of their
    own encoded values, all attributes of the domain taken in turn. That order knows nothing of the file's
    order, of the engine or of anybody else's rows, and rows that tie are equal, so every engine keeps the
    same rows. Rows without a key belong to nobody who could be protected and are left out.

    >>> Individuals("patient", at_most=3).at_most
    3
    """

    key: str | None = None
    at_most: int = 1

    def __post_init__(self) -> None:
        if self.key == "":
            raise PolicyError("the key of the individuals has no name", fix="name a column, or leave the key out")
        if isinstance(self.at_most, bool) or not isinstance(self.at_most, int) or self.at_most < 1:
            raise PolicyError("an individual has fewer than one row", fix="let `at_most` be 1 or more")
        if self.key is None and self.at_most != 1:
            raise PolicyError("several rows per individual need a key", fix="name the column that holds the key")

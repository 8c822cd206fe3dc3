"""Who a row is about, and how many rows one individual may have."""

from __future__ import annotations

from dataclasses import dataclass

from tetraodon.errors import PolicyError


@dataclass(frozen=True, slots=True)
class Individuals:
    """`key` is the column that tells individuals apart; None says that every row is somebody else.

    With a key, at most `at_most` rows of each individual are counted. Whoever has more is left out with all of their
    rows, unless `cut` says to keep the first `at_most` of them, in the order of their own encoded values, all
    attributes of the domain taken in turn. Neither knows anything of the file's order, of the engine or of anybody
    else's rows, and rows that tie are equal, so every engine counts the same rows. Rows without a key belong to nobody
    who could be protected and are left out.

    Why  a cut lets one row decide whether another is counted, so it is safe only where the price allows for any row in
         the place of any other. Leaving out depends on no value (docs/promise.md, "Several rows per person").

    >>> Individuals("patient", at_most=3).cut
    False
    """

    key: str | None = None
    at_most: int = 1
    cut: bool = False

    def __post_init__(self) -> None:
        if self.key == "":
            raise PolicyError("the key of the individuals has no name", fix="name a column, or leave the key out")
        if isinstance(self.at_most, bool) or not isinstance(self.at_most, int) or self.at_most < 1:
            raise PolicyError("an individual has fewer than one row", fix="let `at_most` be 1 or more")
        if self.key is None and (self.at_most != 1 or self.cut):
            raise PolicyError("several rows per individual need a key", fix="name the column that holds the key")

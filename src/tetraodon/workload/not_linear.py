"""What is measured in another way than by adding up what each record adds."""

# ruff: noqa: ARG002 - every contribution is asked in the same way

from __future__ import annotations

from typing import ClassVar, NoReturn

from tetraodon.arrays import Ints
from tetraodon.errors import TetraodonError


class NotLinear:
    """A contribution that is priced by a certifying function of its own: what single records add has no meaning."""

    refusal: ClassVar[tuple[type[TetraodonError], str, str]]
    """The error for whoever asks for it all the same: its kind, what it says, and how to mend it."""

    def alone(self, x: Ints) -> NoReturn:
        self._refuse()

    def apart(self, x: Ints, y: Ints) -> NoReturn:
        self._refuse()

    def potential(self, x: Ints) -> NoReturn:
        self._refuse()

    def columns(self) -> NoReturn:
        self._refuse()

    def _refuse(self) -> NoReturn:
        kind, what, fix = self.refusal
        raise kind(what, fix=fix)

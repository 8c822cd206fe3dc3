"""The shape of one entry of the `release` list of a policy file: the keys of every kind of question together."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import PlainValidator, WithJsonSchema, create_model

from tetraodon.errors import QueryError
from tetraodon.policy.error_target import ErrorEntry
from tetraodon.policy.section import Section
from tetraodon.policy.typed import Exact, Names, Paragraphs, Text, Truth, Whole, refuse
from tetraodon.questions import KINDS, Query
from tetraodon.questions.query import Key

KIND_OF = {word: kind for kind in KINDS for word in kind.words}
"""The kind of question that a key of the policy file stands for."""


class ItemShape(Section):
    """One thing to release."""

    one_of = (*KIND_OF, "names")

    name: Text
    title: Text | None = None
    notes: Paragraphs = ()
    share: Exact = Fraction(1)
    error: ErrorEntry | None = None
    names: Text = ""
    where: Text = ""

    @property
    def asks(self) -> type[Query]:
        """The kind of question it asks."""
        return KIND_OF[self.kind]

    def written(self) -> dict[str, Any]:
        """What stands at each key that its kind knows, by default what was left out."""
        return {key: getattr(self, key) for key in self.asks.keys}


def _checked(read: Callable[[object], Any]) -> Callable[[object], Any]:
    def check(value: object) -> Any:
        try:
            return read(value)
        except QueryError as error:
            refuse(error.what, error.fix)

    return check


def _form(key: Key) -> Any:
    match key.form:
        case "text":
            return Text
        case "names":
            return Names
        case "numbers":
            return tuple[Exact, ...]
        case "whole number":
            return Whole | None
        case "truth":
            return Truth
        case read:
            return Annotated[Any, PlainValidator(_checked(read)), WithJsonSchema(key.schema)]


KEYS = {name: key for kind in KINDS for name, key in kind.keys.items()}
"""What can stand beside `name`, `share` and `where`; kinds that have a key in common mean the same by it."""

if taken := KEYS.keys() & set(ItemShape.model_fields):
    raise TypeError(f"a kind of question may not call a key of its own {', '.join(sorted(taken))}: every item has it")

if TYPE_CHECKING:
    ItemSection = ItemShape
else:
    ItemSection = create_model(
        "ItemSection",
        __base__=ItemShape,
        __doc__=ItemShape.__doc__,
        **{name: (_form(key), key.default) for name, key in KEYS.items()},
    )

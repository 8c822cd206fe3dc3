"""The shape of one entry of the `release` list of a policy file: the keys of every kind of question together."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import PlainValidator, WithJsonSchema, create_model, model_validator

from tetraodon.errors import QueryError
from tetraodon.policy.error_target import ErrorEntry
from tetraodon.policy.section import Section
from tetraodon.policy.typed import Exact, Names, Paragraphs, Text, Truth, Whole, refuse
from tetraodon.questions import KINDS, Query
from tetraodon.questions.query import Key

KIND_OF = {word: kind for kind in KINDS for word in kind.words}
"""The kind of question that a key of the policy file stands for."""


PARTS = ("where", "among", "of")
"""Words for the records that an item is about. They mean the same, and are written back as the first."""


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
    among: Text = ""
    of: Text = ""

    @model_validator(mode="before")
    @classmethod
    def _meant_otherwise(cls, given: Any) -> Any:
        """What stands at a key that means nothing here may be read by none, so this comes first."""
        for word in given if isinstance(given, dict) else ():
            for key, fix in (KIND_OF[word].instead if word in KIND_OF else {}).items():
                if key in given:
                    refuse(f"`{key}` means nothing for `{word}`", fix)
        return given

    @model_validator(mode="after")
    def _one_condition(self) -> ItemShape:
        given = [name for name in PARTS if name in self.model_fields_set]
        if len(given) > 1:
            refuse(
                f"this says both `{given[0]}` and `{given[1]}`, which mean the same",
                "write `where` alone, and join two conditions with `and`",
            )
        return self

    @property
    def condition(self) -> str:
        """The records that it is about, as a condition; empty where it is about all."""
        return self.where or self.among or self.of

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
"""What can stand beside what every item may have; kinds that have a key in common mean the same by it."""

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

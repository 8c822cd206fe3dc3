"""The shape of a policy file: which keys there are, and the short forms of what they say."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, WithJsonSchema, model_validator

from tetraodon.policy.joint_metric import METRICS
from tetraodon.policy.typed import Exact, Names, Rows, Scalar, Short, Text, Truth, Whole, refuse, shown

VERSION = 1
ONE_ROW_EACH = "one row each"
ONE_AT_A_TIME = "one attribute at a time"
ALL_AT_ONCE = "all at once"
SECRET_BLOCKS = "secret blocks"


def _choice(*words: str) -> Any:
    """Text that must be one of some words."""

    def check(value: object) -> str:
        if value not in words:
            refuse(f"{shown(value)} is not understood here", f"write one of: {', '.join(words)}")
        return str(value)

    return Annotated[str, PlainValidator(check), WithJsonSchema({"enum": list(words)})]


class Section(BaseModel):
    """A map of the file. `one_of` names the keys of which exactly one must be there."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    one_of: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def keys(cls) -> list[str]:
        """The keys as a curator writes them."""
        return [field.alias or name for name, field in cls.model_fields.items()]

    @property
    def kind(self) -> str:
        """The one key of `one_of` that was written."""
        return next(name for name in self.one_of if name in self.model_fields_set)

    @model_validator(mode="after")
    def _exactly_one(self) -> Section:
        given = [name for name in self.one_of if name in self.model_fields_set]
        choices = f"one of: {', '.join(self.one_of)}"
        if self.one_of and not given:
            refuse("this does not say which kind it is", f"write {choices}")
        if len(given) > 1:
            refuse(f"this says both `{given[0]}` and `{given[1]}`", f"write only {choices}")
        return self


class Individuals(Section):
    """Whose rows belong together."""

    key: Text
    at_most: Rows = Field(alias="at most")


class AttributeSection(Section):
    """The public set of values of one column."""

    one_of = ("integer", "real", "date", "ordered", "categories", "boolean")

    name: Text | None = None
    integer: list[Whole] = Field(default=[], min_length=2, max_length=2)
    real: list[Exact] = Field(default=[], min_length=2, max_length=2)
    step: Exact | None = None
    date: list[Text] = Field(default=[], min_length=2, max_length=2)
    ordered: list[Scalar] = []
    categories: list[Scalar] = []
    boolean: Truth = True
    missing: Scalar | None = None
    other: Scalar | None = None
    unit: Text | None = None


class SecretSection(Section):
    """Which values of one attribute an observer must not tell apart."""

    one_of = ("everything", "public", "within", "blocks", "pairs")

    everything: Truth = True
    public: Truth = True
    within: Exact | None = None
    blocks: list[list[Scalar]] = []
    pairs: list[list[Scalar]] = []


class Together(Section):
    """How many attributes one secret can change, or a metric that measures several as one."""

    at_most: Whole | None = Field(default=None, alias="at most")
    metric: _choice(*METRICS) | None = None  # type: ignore[valid-type]
    over: list[Text] = []
    within: Exact | None = None


class Budget(Section):
    """What may be spent on this release."""

    epsilon: Exact
    delta: Exact = Fraction(0)


class TableHints(Section):
    """How a CSV file is written, where it cannot be guessed."""

    separator: Annotated[str, WithJsonSchema({"type": "string"})] | None = None
    decimal: _choice(".", ",") | None = None  # type: ignore[valid-type]
    encoding: Text | None = None


def _ranges(value: object) -> tuple[str, list[tuple[str, str, str]]]:
    """`age`, `{age: [[17, 29]]}`, `{age: {young: [17, 29]}}` or `{age: [{name: young, range: [17, 29]}]}`."""
    fix = "write `ranges: age`, or `ranges: {age: [[17, 29], [30, 64]]}`"
    if isinstance(value, str):
        return value, []
    if not isinstance(value, dict) or len(value) != 1:
        refuse("this does not name ranges of one attribute", fix)
    [(attribute, listed)] = value.items()
    if isinstance(listed, dict):
        named = list(listed.items())
    elif isinstance(listed, list):
        named = [_named_range(part) for part in listed]
    else:
        refuse("this does not list ranges", fix)
    if not named:
        refuse("the list of ranges is empty", "list a range, or write `ranges: NAME` for every range")
    for name, pair in named:
        if not isinstance(name, str) or not (isinstance(pair, list) and [type(end) for end in pair] == [str, str]):
            refuse("a range is not a pair", "write each range as [low, high]")
    return attribute, [(name, low, high) for name, (low, high) in named]


def _named_range(part: object) -> tuple[object, object]:
    if isinstance(part, dict) and set(part) == {"name", "range"}:
        return part["name"], part["range"]
    return "", part


def _bins(value: object) -> dict[str, str | list[list[str]]]:
    """Groups, a width, or `secret blocks`, for each attribute that is named."""
    if not isinstance(value, dict):
        refuse("`bins` is not a map", "write `bins: {age: [[17, 29], [30, 90]]}` or `bins: {age: 10}`")
    for groups in value.values():
        listed = isinstance(groups, list) and all(
            isinstance(group, list) and group and all(isinstance(part, str) for part in group) for group in groups
        )
        if not isinstance(groups, str) and not (listed and groups):
            refuse("a bin is not a list of values", f"write [[17, 29], [30, 90]], a width, or `{SECRET_BLOCKS}`")
    return value


_PAIR = {"type": "array", "minItems": 2, "maxItems": 2}
_PAIRS = {"type": "array", "items": _PAIR}
_RANGES_SCHEMA = {
    "anyOf": [
        {"type": "string"},
        {
            "type": "object",
            "minProperties": 1,
            "maxProperties": 1,
            "additionalProperties": {
                "anyOf": [
                    _PAIRS,
                    {"type": "object", "additionalProperties": _PAIR},
                    {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {"name": {"type": "string"}, "range": _PAIR},
                            "required": ["name", "range"],
                        },
                    },
                ]
            },
        },
    ]
}
_BINS_SCHEMA = {
    "type": "object",
    "additionalProperties": {
        "anyOf": [
            {"type": "array", "items": {"type": "array", "minItems": 1}},
            {"type": "number"},
            {"const": SECRET_BLOCKS},
        ]
    },
}


class ItemSection(Section):
    """One thing to release."""

    one_of = ("count", "histogram", "cdf", "ranges", "total", "sum", "mean", "quantiles")

    name: Text
    count: Text = ""
    histogram: Names = []
    bins: Annotated[dict[str, str | list[list[str]]], PlainValidator(_bins), WithJsonSchema(_BINS_SCHEMA)] = {}
    cdf: Text = ""
    ranges: Annotated[Any, PlainValidator(_ranges), WithJsonSchema(_RANGES_SCHEMA)] = None
    total: Text = ""
    sum: Text = ""
    weight: Text = ""
    mean: Text = ""
    quantiles: Text = ""
    at: list[Exact] = []
    by: Names = []
    share: Exact = Fraction(1)
    whole: Truth = False


# -- short forms -------------------------------------------------------------------------------


def _words(forms: dict[str, object], example: str) -> Callable[[object], object]:
    """Expands a word into the form it stands for."""

    def expand(value: object) -> object:
        if not isinstance(value, str):
            return value
        if value not in forms:
            refuse(f"{shown(value)} is not understood here", f"write {' or '.join(forms)}; or {example}")
        return forms[value]

    return expand


_individuals = _words({ONE_ROW_EACH: None}, "{key: person_id, at most: 3 rows}")
_attribute_word = _words({"boolean": {"boolean": "true"}}, "{integer: [0, 120]}, or [Female, Male]")
_secret = _words(
    {word: {word: "true"} for word in ("everything", "public")}, "{within: 5}, {blocks: ...} or {pairs: ...}"
)
_together = _words(
    {ONE_AT_A_TIME: {"at most": "1"}, ALL_AT_ONCE: {}}, "{at most: 2}, or {metric: l1, over: ..., within: ...}"
)


def _attribute(value: object) -> object:
    return {"categories": value} if isinstance(value, list) else _attribute_word(value)


def _attributes(value: object) -> object:
    """A list of maps with a `name` each says the same as a map, and keeps its order wherever it is stored."""
    if isinstance(value, list) and all(isinstance(part, dict) and isinstance(part.get("name"), str) for part in value):
        names = [part["name"] for part in value]
        if len(set(names)) < len(names):
            refuse("two attributes share a name", "give each its own name")
        return {part["name"]: part for part in value}
    return value


AttributeEntry = Annotated[
    AttributeSection,
    Short(_attribute, {"type": "array", "items": {"type": ["string", "number", "boolean"]}}, {"const": "boolean"}),
]
SecretEntry = Annotated[SecretSection, Short(_secret, {"enum": ["everything", "public"]})]


class PolicyDocument(Section):
    """Everything a policy file can say."""

    tetraodon: Whole = VERSION
    dataset: Text
    title: Text | None = None
    individuals: Annotated[Individuals | None, Short(_individuals, {"const": ONE_ROW_EACH})] = None
    presence: _choice("public", "secret") = "secret"  # type: ignore[valid-type]
    attributes: Annotated[dict[Text, AttributeEntry], Short(_attributes)]
    secrets: dict[Text, SecretEntry] = {}
    together: Annotated[Together, Short(_together, {"enum": [ONE_AT_A_TIME, ALL_AT_ONCE]})] = Together()
    known: list[Any] = []
    attackers: list[Scalar] = ["independent"]
    budget: Budget
    table: TableHints | None = None
    release: list[ItemSection] = []


SECTIONS: dict[str, type[Section]] = {
    "individuals": Individuals,
    "attributes": AttributeSection,
    "secrets": SecretSection,
    "together": Together,
    "budget": Budget,
    "table": TableHints,
    "release": ItemSection,
}
"""The kind of map found under each key of the file."""

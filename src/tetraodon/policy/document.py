"""The schema of a policy file: its keys and their short forms."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import Field, PlainValidator, WithJsonSchema, create_model, model_validator

from tetraodon.errors import QueryError
from tetraodon.policy.adversary import AdversarySection
from tetraodon.policy.joint_graph import Metric
from tetraodon.policy.publication import ErrorEntry, Publisher
from tetraodon.policy.section import (
    AttackersEntry,
    AttackersSection,
    ChancesSection,
    Distance,
    Exact,
    KnownSection,
    Names,
    Paragraphs,
    Rows,
    Scalar,
    Section,
    Share,
    Short,
    TableSecretSection,
    Text,
    Truth,
    Whole,
    refuse,
    words,
)
from tetraodon.query.kinds import KINDS
from tetraodon.query.query import Key, Query

# -- item section -----------------------------------------------------------------------------------
# The shape of one entry of the `release` list of a policy file: the keys of every kind of question together.

KIND_OF = {word: kind for kind in KINDS for word in kind.words}
"""The kind of question that a key of the policy file asks."""


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
        """Refuse keys that mean nothing here before their values are read, which no type may fit."""
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
        """The value of each key that its kind knows, its default where it was left out."""
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
"""The keys of kinds, besides those of every item; kinds that share a key mean the same by it."""

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


# -- document ---------------------------------------------------------------------------------------

VERSION = 1
ONE_ROW_EACH = "one row each"
ONE_AT_A_TIME = "one attribute at a time"
ALL_AT_ONCE = "all at once"
NOTHING = "none"
NONE_BUT_PRESENCE = "none but presence"
TABLE = "table"
"""The key among the secrets that is of no attribute, unless one is called so."""


def _unit(value: object) -> object:
    """One word for a unit, or two: that of one, and that of several."""
    if isinstance(value, list) and len(value) != 2:
        refuse("a unit is one word, or two: of one and of several", "write unit: EUR, or unit: [child, children]")
    return [value] if isinstance(value, str) else value


Unit = Annotated[tuple[Text, ...], Short(_unit, {"type": "string"})]


class IndividualsSection(Section):
    """Whose rows belong together."""

    key: Text
    at_most: Rows | None = Field(default=None, alias="at most")
    secret: Rows | None = None

    @property
    def rows(self) -> int:
        """How many rows of a person one step may change."""
        return self.at_most or self.secret or 1


# A tree is `{East: [ON, QC], West: {Coast: [BC], ...}}`; in normal form maps are lists of pairs, whose order survives
# wherever keys are sorted.
TREE_FIX = (
    "write {East: [ON, QC], West: [BC, AB]}, deeper where you need it, and every list of values as deep as the others"
)
Branches = tuple[str, ...]
"""A value of a tree, below the names of its branches, the coarsest first."""


def read_tree(value: object) -> tuple[Branches, ...]:
    """The values of a tree in their order, each below the names of its branches.

    >>> read_tree({"East": ["ON", "QC"], "West": ["BC"]})
    (('East', 'ON'), ('East', 'QC'), ('West', 'BC'))
    """
    found = tuple(_leaves(value, ()))
    if len({len(path) for path in found}) != 1 or len(found[0]) < 2:
        refuse("the branches of this tree are not equally deep, or there are none", TREE_FIX)
    return found


def _leaves(value: object, above: Branches) -> Iterator[Branches]:
    if len(above) > 10:
        refuse("this tree is too deep", "write at most ten levels")
    if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
        yield from ((*above, label) for label in value)
        return
    pairs = list(value.items()) if isinstance(value, dict) else value
    if not isinstance(pairs, list) or not pairs:
        refuse("this is no tree of categories", TREE_FIX)
    names = [pair[0] for pair in pairs if isinstance(pair, list | tuple) and pair]
    if len({str(name) for name in names}) < len(names):
        refuse("two branches share a name", "give each branch of a level a name of its own")
    for pair in pairs:
        if not isinstance(pair, list | tuple) or len(pair) != 2 or not isinstance(pair[0], str) or not pair[0].strip():
            refuse("this is no tree of categories", TREE_FIX)
        yield from _leaves(pair[1], (*above, pair[0]))


_TREE_SCHEMA = {"anyOf": [{"type": "object", "minProperties": 1}, {"type": "array", "minItems": 1}]}
Tree = Annotated[tuple[Branches, ...], PlainValidator(read_tree), WithJsonSchema(_TREE_SCHEMA)]


class AttributeSection(Section):
    """The public set of values of one column."""

    one_of = ("integer", "real", "date", "ordered", "categories", "tree", "boolean", "open")

    name: Text | None = None
    integer: tuple[Whole, ...] = Field(default=(), min_length=2, max_length=2)
    real: tuple[Exact, ...] = Field(default=(), min_length=2, max_length=2)
    step: Exact | None = None
    date: tuple[Text, ...] = Field(default=(), min_length=2, max_length=2)
    ordered: tuple[Scalar, ...] = ()
    categories: tuple[Scalar, ...] = ()
    tree: Tree = ()
    levels: tuple[Text, ...] = ()
    boolean: Truth = True
    missing: Scalar | None = None
    other: Scalar | None = None
    format: Text | None = None
    trim: Truth = False
    unit: Unit = ()
    open: Literal["text"] = "text"
    longest: Whole | None = None


class SecretSection(Section):
    """Which values of one attribute an observer must not tell apart."""

    one_of = ("everything", "public", "within", "blocks", "level", "pairs")

    everything: Truth = True
    public: Truth = True
    within: Distance | None = None
    blocks: tuple[tuple[Scalar, ...], ...] = ()
    level: Text = ""
    pairs: tuple[tuple[Scalar, ...], ...] = ()


class Together(Section):
    """How many attributes one secret can change; or a metric that measures several as one, or blocks of their cells."""

    at_most: Whole | None = Field(default=None, alias="at most")
    metric: Metric | None = None
    over: tuple[Text, ...] = ()
    within: Exact | None = None
    blocks: tuple[tuple[Scalar, ...], ...] = ()
    cells: Text | None = None


class Budget(Section):
    """What may be spent on this release."""

    one_of = ("epsilon", "rho")

    epsilon: Exact = Fraction(0)
    rho: Exact = Fraction(0)
    delta: Exact = Fraction(0)
    once: Truth = False


class TableHints(Section):
    """How a CSV file is written, where it cannot be guessed; and how much of a column may be unreadable."""

    separator: Annotated[str, WithJsonSchema({"type": "string"})] | None = None
    decimal: Literal[".", ","] | None = None
    encoding: Text | None = None
    unreadable: Share | None = None


# -- short forms -------------------------------------------------------------------------------


_individuals = words({ONE_ROW_EACH: None}, "{key: person_id, at most: 3 rows}")
_attribute_word = words({"boolean": {"boolean": "true"}}, "{integer: [0, 120]}, or [Female, Male]")
_secret = words(
    {word: {word: "true"} for word in ("everything", "public")}, "{within: 5}, {blocks: ...} or {pairs: ...}"
)
_together = words(
    {ONE_AT_A_TIME: {"at most": "1"}, ALL_AT_ONCE: {}}, "{at most: 2}, or {metric: l1, over: ..., within: ...}"
)
_secrets = words({}, f"{NONE_BUT_PRESENCE}, or {{age: {{within: 5}}}}")  # that one `only_presence` has read before
_rule = words({NOTHING: {"none": "true"}}, "{secrets: {age: {within: 5}}}")


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


_NAMED_LIST = {"type": "array", "items": {"type": "object", "required": ["name"]}}
AttributeEntry = Annotated[
    AttributeSection,
    Short(_attribute, {"type": "array", "items": {"type": ["string", "number", "boolean"]}}, {"const": "boolean"}),
]
SecretEntry = Annotated[SecretSection, Short(_secret, {"enum": ["everything", "public"]})]
TogetherEntry = Annotated[Together, Short(_together, {"enum": [ONE_AT_A_TIME, ALL_AT_ONCE]})]


class Rule(Section):
    """The secrets of the people of one group, where they are not those of the policy."""

    none: Truth = False
    secrets: dict[Text, SecretEntry] = Field(default_factory=dict)
    together: TogetherEntry | None = None


class GroupsSection(Section):
    """People with secrets of their own, by a public attribute."""

    by: Text
    rules: dict[Scalar, Annotated[Rule, Short(_rule, {"const": NOTHING})]]


def only_presence(attributes: object) -> dict[str, str]:
    """The secrets of a file where presence is the only one: every attribute is public, but for open text, of which
    there is no list to be published.
    """
    parts = attributes if isinstance(attributes, list) else []
    listed = [(part["name"], part) for part in parts if isinstance(part, dict) and "name" in part]
    entries = attributes.items() if isinstance(attributes, dict) else listed
    return {str(name): "public" for name, entry in entries if not (isinstance(entry, dict) and "open" in entry)}


class PolicyDocument(Section):
    """Everything a policy file can say."""

    tetraodon: Whole = VERSION
    dataset: Text
    population: Text | None = None
    title: Text | None = None
    publisher: Publisher = Field(default_factory=Publisher)
    individuals: Annotated[IndividualsSection | None, Short(_individuals, {"const": ONE_ROW_EACH})] = None
    presence: Literal["public", "secret"] = "secret"
    attributes: Annotated[dict[Text, AttributeEntry], Short(_attributes, _NAMED_LIST)]
    secrets: Annotated[dict[Text, SecretEntry], Short(_secrets, {"const": NONE_BUT_PRESENCE})] = Field(
        default_factory=dict
    )
    together: TogetherEntry = Field(default_factory=Together)
    groups: GroupsSection | None = None
    known: tuple[KnownSection, ...] = ()
    attackers: tuple[AttackersEntry, ...] = (AttackersSection(independent="true"),)  # type: ignore[arg-type]
    budget: Budget
    adversary: AdversarySection | None = None
    public: dict[Text, Text] = Field(default_factory=dict)
    table: TableHints | None = None
    release: tuple[ItemSection, ...] = ()


def section_at(path: Sequence[str | int]) -> type[Section]:
    """The kind of map found at a path of the file."""
    if path[:2] == ("secrets", TABLE) and len(path) != 3:
        return ChancesSection if len(path) > 2 else TableSecretSection
    found: Any = PolicyDocument
    for part in path:
        if isinstance(found, type) and issubclass(found, Section):
            fields = {field.alias or name: field for name, field in found.model_fields.items()}
            found = fields[str(part)].annotation
        else:  # what a dict has for its keys, or a tuple for its places
            found = get_args(found)[get_origin(found) is dict]
        while get_origin(found) in (Annotated, Union, UnionType):  # short forms, or nothing at all
            found = get_args(found)[0]
    kind: type[Section] = found
    return kind


# -- schema -----------------------------------------------------------------------------------------
# The JSON Schema of policy files, so that editors complete and check them.
#
# `python -m tetraodon.policy.document > docs/policy.schema.json` writes the published copy.

PLACE = "#/$defs/{model}"


def policy_schema() -> dict[str, Any]:
    """The schema of everything a policy file can say, short forms included."""
    schema = _tidy(PolicyDocument.model_json_schema(by_alias=True, mode="validation"))
    whole = _tidy(TableSecretSection.model_json_schema(by_alias=True, mode="validation", ref_template=PLACE))
    by_name = schema["properties"]["secrets"]["anyOf"][1]
    schema["$defs"] |= whole.pop("$defs") | {TableSecretSection.__name__: whole}
    here = {"$ref": PLACE.format(model=TableSecretSection.__name__)}
    by_name["properties"] = {TABLE: {"anyOf": [here, by_name["additionalProperties"]]}}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Tetraodon policy", **schema}


def _tidy(part: Any) -> Any:
    """Without what the editor would only show as noise: generated titles, and defaults that say 'left out'."""
    if isinstance(part, list):
        return [_tidy(child) for child in part if child != {"type": "null"}]
    if not isinstance(part, dict):
        return part
    kept = {key: value for key, value in part.items() if not _noise(key, value)}
    return {key: _tidy(value) for key, value in kept.items()}


def _noise(key: str, value: object) -> bool:
    return (key == "title" and isinstance(value, str)) or (key == "default" and value in (None, "", [], {}))


def schema_text() -> str:
    """The schema as the text of its file."""
    return json.dumps(policy_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(schema_text(), end="")

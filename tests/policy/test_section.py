"""Sections of a policy file: typed values, shapes, schema."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticCustomError

from tetraodon.domain import Attribute, Categories, Domain, Integers
from tetraodon.errors import PolicyError, QueryError
from tetraodon.policy.build import known_from
from tetraodon.policy.document import (
    PARTS,
    AttributeSection,
    IndividualsSection,
    ItemSection,
    PolicyDocument,
    policy_schema,
    schema_text,
    section_at,
)
from tetraodon.policy.known import CountWhere, Known, Marginal, Rectangle, known_query
from tetraodon.policy.load import load_policy
from tetraodon.policy.section import (
    AttackersEntry,
    ChainSection,
    KnownSection,
    Section,
    exact,
    rows,
    share,
    text,
    truth,
    whole,
)

# -- section ----------------------------------------------------------------------------------------
# Shapes of parts of a policy file: known keys only, one kind where there is a choice; `known` and `attackers`.


def test_keys_are_those_that_curators_write() -> None:
    assert IndividualsSection.keys() == ["key", "at most", "secret"]


def test_the_kind_is_the_one_that_was_written() -> None:
    assert AttributeSection.model_validate({"integer": ["0", "9"]}).kind == "integer"
    for wrong in ({}, {"integer": ["0", "9"], "boolean": "true"}, {"integre": []}):
        with pytest.raises(ValidationError):
            AttributeSection.model_validate(wrong)


DOMAIN = Domain(
    (
        Attribute("x", Integers(1, 6)),
        Attribute("y", Integers(1, 4)),
        Attribute("sex", Categories(("Female", "Male")), other=0),
    )
)


def read(entry: dict[str, Any], folder: Path = Path(".")) -> Known:
    return known_from(KnownSection.model_validate(entry), DOMAIN, folder)


def test_forms_of_the_policy_file() -> None:
    assert read({"count": "x = 1 or y = 2"}) == Known(CountWhere("x = 1 or y = 2"))
    assert read({"count": "x = 1", "is": "7"}).answers == (7,)
    assert read({"marginal": ["sex", "y"]}) == Known(Marginal(("sex", "y")))
    assert read({"rectangle": {"y": ["2", "3"], "x": ["1", "4"]}}) == Known(Rectangle((("x", 1, 4), ("y", 2, 3))))
    assert read({"blocks": {"x": [["1", "2"], ["3", "6"]]}}) == Known(Marginal(("x",), (("x", ((1, 2), (3, 6))),)))


def test_inequalities_are_read() -> None:
    assert read({"count": "x = 1", "at most": "5"}) == Known(CountWhere("x = 1"), most=5)
    assert read({"rectangle": {"x": ["1", "4"]}, "at least": "5"}) == Known(Rectangle((("x", 1, 4),)), least=5)


@pytest.mark.parametrize(
    ("entry", "what"),
    [
        ({"marginal": ["age"]}, "no attribute 'age'"),
        ({"marginal": ["x", "x"]}, "once"),
        ({"marginal": ["x"], "bins": {"y": [["1", "4"]]}}, "does not have"),
        ({"count": "x = 1", "bins": {"x": [["1", "6"]]}}, "means nothing"),
        ({"rectangle": {"z": ["1", "2"]}}, "no attribute"),
        ({"rectangle": {"x": ["1"]}}, "two ends"),
        ({"rectangle": {"x": ["1", "9"]}}, "not a value"),
        ({"rectangle": {"x": ["3", "1"]}}, "smaller end first"),
        ({"rectangle": {"sex": ["Female", "Male"]}}, "no order"),
        ({"blocks": {"x": [["1", "3"], ["3", "6"]]}}, "overlap"),
        ({"blocks": {"x": [["1", "3"]]}}, "leave"),
        ({"table": "t.csv", "is": "3"}, "in its file"),
    ],
)
def test_what_does_not_fit_the_domain_is_an_error(entry: dict[str, Any], what: str) -> None:
    with pytest.raises((PolicyError, QueryError), match=what):
        known_query(read(entry), DOMAIN)


ENTRY = TypeAdapter(AttackersEntry)
MATRIX = [["0.9", "1/10"], ["0.4", "0.6"]]


def test_the_word_and_the_maps() -> None:
    assert ENTRY.validate_python("independent").kind == "independent"
    groups = ENTRY.validate_python({"groups": "household", "at most": "5 rows"})
    assert (groups.kind, groups.groups, groups.at_most) == ("groups", "household", 5)


def test_one_chain_or_several() -> None:
    one = ChainSection(along="time", transition=MATRIX, source="a study")
    assert one.transition == (((Fraction(9, 10), Fraction(1, 10)), (Fraction(2, 5), Fraction(3, 5))),)
    assert one.start == ()
    two = ChainSection(along="time", transition=[MATRIX, MATRIX], start=["0.5", "0.5"], source="a study")
    assert len(two.transition) == 2
    assert two.start == ((Fraction(1, 2), Fraction(1, 2)),)
    assert ChainSection(along="time", transition=MATRIX, start="stationary", source="s").start == ()


@pytest.mark.parametrize(
    "entry",
    [
        "correlated",
        {"groups": "a", "chain": {"along": "t", "transition": MATRIX, "source": "s"}},
        {"chain": {"along": "t", "transition": "often", "source": "s"}},
        {"chain": {"along": "t", "transition": [["0.5", "x"], ["0", "1"]], "source": "s"}},
        {"chain": {"along": "t", "transition": MATRIX, "start": "anywhere", "source": "s"}},
        {"chain": {"along": "t", "transition": MATRIX}},
        {"chain": {"along": "t", "transition": [], "source": "s"}},
        {"chain": {"along": "t", "transition": MATRIX, "start": [], "source": "s"}},
        {"groups": "a", "at most": "0"},
    ],
)
def test_other_forms_are_refused(entry: object) -> None:
    with pytest.raises(ValidationError):
        ENTRY.validate_python(entry)


# -- typed ------------------------------------------------------------------------------------------
# What was typed, as the number or word that is wanted.


@pytest.mark.parametrize(
    ("typed", "number"),
    [("3", 3), ("0.1", Fraction(1, 10)), ("1e-6", Fraction(1, 10**6)), ("1/3", Fraction(1, 3)), (" 1_000 ", 1000)],
)
def test_numbers_mean_what_they_look_like(typed: str, number: Fraction) -> None:
    assert exact(typed) == number
    assert exact(Fraction(number)) == number


@pytest.mark.parametrize("typed", ["", ".", "nan", ".inf", "1e999", "1/0", "0x1", "1,5", "--1", "9" * 99, None, [], {}])
def test_what_is_no_number(typed: object) -> None:
    with pytest.raises(PydanticCustomError) as caught:
        exact(typed)
    assert caught.value.type == "tetraodon"


@pytest.mark.parametrize(
    ("read", "typed"),
    [
        (whole, "1.5"),
        (truth, "yes"),
        (truth, "True"),
        (text, ""),
        (text, " "),
        (text, None),
        (text, "a\nb"),
        (text, "a" * 201),
        (rows, "0"),
        (rows, "many rows"),
        (rows, "1000001"),
    ],
)
def test_what_is_refused(read, typed: object) -> None:
    with pytest.raises(PydanticCustomError):
        read(typed)


@pytest.mark.parametrize(("typed", "found"), [("1%", "1/100"), ("0.5 %", "1/200"), ("0.02", "1/50"), ("100%", "1")])
def test_shares(typed: str, found: str) -> None:
    assert share(typed) == Fraction(found)


@pytest.mark.parametrize("typed", ["101%", "-1%", "2", "%", "much", []])
def test_what_is_no_share(typed: object) -> None:
    with pytest.raises(PydanticCustomError):
        share(typed)


# -- document ---------------------------------------------------------------------------------------
# Short forms stand for long ones.


def read_of_document(**changes: object) -> PolicyDocument:
    return PolicyDocument.model_validate(
        {"dataset": "d", "attributes": {"a": "boolean"}, "budget": {"epsilon": "1"}, **changes}
    )


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ({"attributes": {"a": ["x", "y"]}}, {"attributes": {"a": {"categories": ["x", "y"]}}}),
        ({"attributes": {"a": "boolean"}}, {"attributes": {"a": {"boolean": "true"}}}),
        ({"secrets": {"a": "public"}}, {"secrets": {"a": {"public": "true"}}}),
        ({"secrets": {"a": "everything"}}, {"secrets": {"a": {"everything": "true"}}}),
        ({"together": "one attribute at a time"}, {"together": {"at most": "1"}}),
        ({"together": "all at once"}, {"together": {}}),
    ],
)
def test_short_forms(short: dict, long: dict) -> None:
    assert read_of_document(**short) == read_of_document(**long)


def test_one_row_each_is_the_default() -> None:
    assert read_of_document(individuals="one row each").individuals is None
    assert read_of_document().individuals is None


def test_attributes_may_be_a_list_with_names() -> None:
    listed = read_of_document(attributes=[{"name": "z", "boolean": "true"}, {"name": "a", "integer": ["0", "1"]}])
    assert list(listed.attributes) == ["z", "a"]


def test_defaults_are_the_strongest_protection() -> None:
    document = read_of_document()
    assert document.presence == "secret"
    assert document.secrets == {}
    assert document.together.at_most is None
    assert [entry.kind for entry in document.attackers] == ["independent"]


def test_a_unit_is_one_word_or_two() -> None:
    said = {"attributes": {"a": {"integer": ["0", "9"], "unit": ["child", "children"]}}}
    assert read_of_document(**said).attributes["a"].unit == ("child", "children")
    assert read_of_document(attributes={"a": {"integer": ["0", "9"], "unit": "EUR"}}).attributes["a"].unit == ("EUR",)
    with pytest.raises(ValidationError, match="of one and of several"):
        read_of_document(attributes={"a": {"integer": ["0", "9"], "unit": ["a", "b", "c"]}})


# -- item section -----------------------------------------------------------------------------------
# One entry of the release list.


POLICY = {"dataset": "d", "attributes": {"age": {"integer": [0, 99]}}, "budget": {"epsilon": 1}}


def read_of_item_section(**words: object) -> ItemSection:
    return ItemSection.model_validate({"name": "n", **words})


def test_a_single_name_is_a_list_of_one() -> None:
    assert read_of_item_section(histogram="age").histogram == ("age",)
    assert read_of_item_section(cdf="age", by="sex").by == ("sex",)


@pytest.mark.parametrize(
    ("typed", "read_as"),
    [
        ("age", ("age", [])),
        ({"age": [["1", "2"]]}, ("age", [("", "1", "2")])),
        ({"age": {"young": ["1", "2"]}}, ("age", [("young", "1", "2")])),
        ({"age": [{"name": "young", "range": ["1", "2"]}]}, ("age", [("young", "1", "2")])),
    ],
)
def test_ranges(typed: object, read_as: object) -> None:
    assert read_of_item_section(ranges=typed).ranges == read_as


@pytest.mark.parametrize(
    "words",
    [
        {},
        {"count": "all", "cdf": "age"},
        {"ranges": None},
        {"ranges": {"age": [], "sex": []}},
        {"ranges": {"age": None}},
        {"ranges": {"age": {"young": ["1", ["2"]]}}},
        {"ranges": {"age": [{"name": ["x"], "range": ["1", "2"]}]}},
        {"histogram": "age", "bins": {"age": None}},
        {"histogram": "age", "bins": {"age": []}},
        {"histogram": "age", "bins": {"age": [[]]}},
        {"histogram": "age", "bins": {"age": [[["1"]]]}},
        {"histogram": None},
        {"quantiles": "age", "at": "0.5"},
    ],
)
def test_what_is_no_item(words: dict) -> None:
    with pytest.raises(ValidationError):
        read_of_item_section(**words)


@pytest.mark.parametrize("word", PARTS)
def test_a_part_of_the_records_has_three_words(word: str) -> None:
    assert read_of_item_section(count="all", **{word: "age > 3"}).condition == "age > 3"


@pytest.mark.parametrize(("one", "other"), [("where", "among"), ("where", "of"), ("among", "of")])
def test_two_words_for_a_part_are_one_too_many(one: str, other: str) -> None:
    with pytest.raises(PolicyError, match=f"both `{one}` and `{other}`.*join two conditions with `and`"):
        load_policy({**POLICY, "release": [{"name": "n", "count": "all", one: "age > 3", other: "age > 3"}]})


@pytest.mark.parametrize("at", [[[0, 17]], [0.5]])
def test_ends_of_ranges_belong_to_their_attribute(at: object) -> None:
    with pytest.raises(PolicyError, match=r"`at` means nothing for `ranges`.*write `ranges: \{age: "):
        load_policy({**POLICY, "release": [{"name": "n", "ranges": "age", "at": at}]})


# -- schema -----------------------------------------------------------------------------------------
# The published schema is that of the code, and knows every key.


PUBLISHED = Path(__file__).parents[2] / "docs" / "policy.schema.json"


def test_the_published_schema_is_up_to_date() -> None:
    assert PUBLISHED.read_text(encoding="utf-8") == schema_text(), (
        "run python -m tetraodon.policy.document > docs/policy.schema.json"
    )


def test_every_key_is_known_to_editors() -> None:
    schema = policy_schema()
    assert set(schema["properties"]) == set(PolicyDocument.keys())
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["dataset", "attributes", "budget"]
    sections = {one.__name__: one for one in (*Section.__subclasses__(), ItemSection)}
    for name, part in schema["$defs"].items():
        section = sections[name]
        assert set(part["properties"]) == set(section.keys())
        assert part["additionalProperties"] is False
        assert part.get("oneOf", []) == [{"required": [name]} for name in section.one_of]


@pytest.mark.parametrize(
    ("path", "section"),
    [
        ((), "PolicyDocument"),
        (("release", 1), "ItemSection"),
        (("release", 1, "error"), "ErrorTarget"),
        (("attributes", "age"), "AttributeSection"),
        (("secrets", "age"), "SecretSection"),
        (("secrets", "table"), "TableSecretSection"),
        (("secrets", "table", "chances", "x"), "ChancesSection"),
        (("groups", "rules", "a", "secrets", "age"), "SecretSection"),
        (("groups", "rules", "a", "together"), "Together"),
        (("known", 0), "KnownSection"),
        (("attackers", 0, "contacts"), "ContactsSection"),
        (("adversary", "prior"), "PriorSection"),
        (("individuals",), "IndividualsSection"),
        (("publisher",), "Publisher"),
        (("table",), "TableHints"),
    ],
)
def test_the_section_at_a_path_is_known(path: tuple[str | int, ...], section: str) -> None:
    assert section_at(path).__name__ == section


def test_short_forms_are_offered() -> None:
    properties = policy_schema()["properties"]
    assert {"const": "one row each"} in properties["individuals"]["anyOf"]
    assert {"enum": ["one attribute at a time", "all at once"]} in properties["together"]["anyOf"]
    alone, by_name = properties["secrets"]["anyOf"]
    assert alone == {"const": "none but presence"}
    assert {"enum": ["everything", "public"]} in by_name["additionalProperties"]["anyOf"]
    assert properties["presence"]["enum"] == ["public", "secret"]
    one_attribute = properties["attributes"]["anyOf"][1]["additionalProperties"]["anyOf"]
    assert {"const": "boolean"} in one_attribute
    assert any(form.get("type") == "array" for form in one_attribute)


def test_references_lead_somewhere() -> None:
    text = json.dumps(policy_schema())
    names = {part.split('"')[0] for part in text.split("#/$defs/")[1:]}
    assert names == set(policy_schema()["$defs"])


def test_the_module_prints_it() -> None:
    made = subprocess.run([sys.executable, "-m", "tetraodon.policy.document"], capture_output=True, check=True)
    assert made.stdout.decode() == schema_text()

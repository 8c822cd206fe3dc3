"""Values as they are typed in the policy file."""

from __future__ import annotations

from fractions import Fraction

import pytest
from tests.policy.mistakes import small

from tetraodon.domain import Attribute, Booleans, Categories, Dates, Grid, Integers
from tetraodon.errors import PolicyError
from tetraodon.policy.build import code_of
from tetraodon.policy.load import load_policy

ATTRIBUTES = {
    "integer": Attribute("a", Integers(5, 9)),
    "grid": Attribute("a", Grid(Fraction(0), Fraction(1), Fraction(1, 10))),
    "categories": Attribute("a", Categories(("low", "high", "1.0")), other=0),
    "boolean": Attribute("a", Booleans(), other=0),
}


@pytest.mark.parametrize(
    ("kind", "typed", "code"),
    [("integer", "7", 2), ("integer", "7.0", 2), ("grid", "0.3", 3), ("categories", "1.0", 2), ("boolean", "true", 1)],
)
def test_positions(kind: str, typed: str, code: int) -> None:
    assert code_of(ATTRIBUTES[kind], typed) == code


@pytest.mark.parametrize(
    ("kind", "typed", "fix"),
    [
        ("integer", "10", "from 5 to 9"),
        ("integer", "7.5", "from 5 to 9"),
        ("grid", "0.25", "in steps of 1/10"),
        ("grid", "1.01", "from 0 to 1"),
        ("categories", "hihg", "did you mean 'high'"),
        ("categories", "1", "did you mean|use one of"),
        ("boolean", "yes", "true or false"),
    ],
)
def test_values_outside_are_refused_and_never_rounded(kind: str, typed: str, fix: str) -> None:
    with pytest.raises(PolicyError, match=fix):
        code_of(ATTRIBUTES[kind], typed)


def test_how_a_column_is_written() -> None:
    attributes = {
        "d": {"date": ["2026-01-01", "2026-12-31"], "format": "DD.MM.YYYY", "trim": True},
        "c": {"categories": ["a", "b"], "missing": "b"},
    }
    policy = load_policy(small(attributes=attributes, secrets={}, release=[], table={"unreadable": "5%"}))
    assert (policy.domain["d"].format, policy.domain["d"].trim) == ("DD.MM.YYYY", True)
    assert [policy.domain[name].declared for name in "dc"] == [(), ("missing",)]
    again = load_policy(policy.document)
    assert (again, again.unreadable, again.table_hints) == (policy, Fraction(1, 20), {})
    assert again.domain["d"].format == "DD.MM.YYYY"


@pytest.mark.parametrize(
    ("attribute", "what"),
    [
        ({"integer": [0, 9], "format": "DD.MM.YYYY"}, "only dates have a format"),
        ({"date": ["2026-01-01", "2026-12-31"], "format": "DD.MM.YY"}, "is not understood"),
        ({"categories": [" a", "b"], "trim": True}, "blanks around it"),
    ],
)
def test_what_cannot_be_written_so(attribute: dict[str, object], what: str) -> None:
    with pytest.raises(PolicyError, match=what):
        load_policy(small(attributes={"x": attribute}, secrets={}, release=[]))


def test_kinds_of_attributes() -> None:
    domain = load_policy(
        small(
            attributes={
                "i": {"integer": [-3, 1_000_000_000_000]},
                "r": {"real": ["0", "10"], "step": 0.1},
                "d": {"date": ["2020-01-01", "2020-12-31"]},
                "o": {"ordered": ["low", "high"]},
                "b": "boolean",
                "c": {"categories": ["a", "b", "other"], "missing": "b", "other": "other", "unit": "kind"},
                "n": ["Yes", "No", "on", "007", 1.5],
                "z": {"integer": [0, 9], "missing": 9, "other": 5},
            }
        )
    ).domain
    assert domain["i"].values == Integers(-3, 10**12)
    assert domain["r"].values == Grid(Fraction(0), Fraction(10), Fraction(1, 10))
    assert isinstance(domain["d"].values, Dates)
    assert domain["o"].values == Categories(("low", "high"), ordered=True)
    assert domain["b"].values == Booleans()
    assert (domain["c"].missing, domain["c"].other, domain["c"].unit) == (1, 2, "kind")
    assert domain["n"].labels == ("Yes", "No", "on", "007", "1.5")
    assert (domain["z"].missing, domain["z"].other) == (9, 5)
    assert (domain["i"].missing, domain["i"].other) == (0, None)
    assert (domain["b"].missing, domain["b"].other) == (0, 0)

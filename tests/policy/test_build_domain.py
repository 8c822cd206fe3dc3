"""Values as they are typed in the policy file."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tetraodon.domain import Attribute, Booleans, Categories, Grid, Integers
from tetraodon.errors import PolicyError
from tetraodon.policy.build_domain import code_of

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

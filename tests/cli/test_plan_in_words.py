"""Every kind of question and pair has words."""

from __future__ import annotations

from fractions import Fraction

import pytest

import tetraodon as td
from tetraodon.cli.plan_words import notes, pair_in_words
from tetraodon.domain import Attribute, Integers
from tetraodon.query.query import Query, asked_in_words

DOMAIN = td.load_policy(
    {
        "dataset": "d",
        "attributes": {"age": {"integer": [0, 9]}, "loss": {"integer": [0, 9], "unit": "USD"}, "sex": ["F", "M"]},
        "budget": {"epsilon": 1},
    }
).domain


@pytest.mark.parametrize(
    ("query", "words", "unit"),
    [
        (td.queries.count(), "records", "records"),
        (td.queries.count("age > 3", by=["sex"]), "records where age > 3 by sex", "records"),
        (td.queries.histogram("age", "sex"), "counts by age and sex", "records"),
        (td.queries.histogram("age", bins={"age": [[0, 4], [5, 9]]}), "counts by age in bins", "records"),
        (td.queries.cdf("age", by=["sex"]), "running counts of age by sex", "records"),
        (td.queries.ranges("age"), "all ranges of age", "records"),
        (td.queries.ranges("age", {"young": [0, 4]}), "1 range of age", "records"),
        (td.queries.ranges("age", [[0, 3], [4, 9]]), "2 ranges of age", "records"),
        (td.queries.total("loss", weight="age"), "sum of loss times age", "USD"),
        (td.queries.mean("loss"), "mean of loss", "USD (sum)"),
        (td.queries.mean("age"), "mean of age", "(sum)"),
        (td.queries.quantiles("age", at=[Fraction(1, 2)]), "median of age", "records"),
    ],
)
def test_questions(query: Query, words: str, unit: str) -> None:
    assert (asked_in_words(query), query.unit(DOMAIN)) == (words, unit)


def test_pairs() -> None:
    one, other = {"age": 1, "loss": 2, "sex": "F"}, {"age": 1, "loss": 9, "sex": "F"}
    units = {
        "loss": Attribute("loss", Integers(0, 9), missing=10, separate=True, unit="USD"),
        "age": Attribute("age", Integers(0, 9), unit="years"),
    }
    assert pair_in_words([one, other], units) == "one person's loss 2 rather than 9 USD"
    assert pair_in_words([one, one | {"loss": "missing"}], units) == "one person's loss 2 rather than missing"
    assert pair_in_words([one | {"age": 2}, one], units) == "one person's age 2 rather than 1 year"
    assert pair_in_words([one, other | {"age": 3}], {"loss": units["loss"]}) == (
        "one person with age 1, loss 2 USD rather than age 3, loss 9 USD"
    )
    assert pair_in_words(["not in the data", one]) == "a person with age 1, loss 2, sex F in the data rather than not"
    assert pair_in_words([{str(n): n for n in range(9)}, "not in the data"]).count(",") == 6


def test_it_is_said_why_counts_of_keyed_rows_are_not_exact() -> None:
    policy = {"dataset": "d", "presence": "public", "attributes": {"sex": ["F", "M"]}, "budget": {"epsilon": 1}}
    keyed = {"individuals": {"key": "id", "at most": 3}, "release": [{"name": "n", "count": "all"}]}
    told = " ".join(notes(td.plan(td.load_policy(policy | keyed)), None))
    assert "how many rows a person has, even though presence is public" in told


@pytest.mark.parametrize(
    ("budget", "many", "said"),
    [
        ({"epsilon": 1, "delta": "1e-6"}, 1, "The noise is Laplace noise: for these items its errors are smaller"),
        (
            {"epsilon": 1, "delta": "1e-6"},
            30,
            "Gaussian, whose errors are smaller for these items than those of Laplace",
        ),
        ({"rho": "1/2"}, 1, "The noise is Gaussian: the loss is rho 0.5 in zCDP"),
    ],
)
def test_which_noise_was_taken_and_why(budget: dict[str, object], many: int, said: str) -> None:
    names = [f"a{place}" for place in range(many)]
    plan = td.plan(
        {
            "dataset": "d",
            "attributes": {name: {"integer": [0, 1]} for name in names},
            "budget": budget,
            "release": [{"name": name, "histogram": name} for name in names],
        }
    )
    assert [note for note in notes(plan, None) if said in note]

"""What the fields of a form say, as values of a policy file."""

from __future__ import annotations

from typing import Any

import pytest

from tetraodon.errors import PolicyError
from tetraodon.web import forms


def fields(**said: str | list[str]) -> dict[str, list[str]]:
    return {name: value if isinstance(value, list) else [value] for name, value in said.items()}


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ({"kind": "integer", "low": " 0 ", "high": "99"}, {"integer": ["0", "99"]}),
        (
            {"kind": "real", "low": "0", "high": "1", "step": "0.1", "missing": "separate"},
            {"real": ["0", "1"], "step": "0.1", "missing": "separate"},
        ),
        ({"kind": "categories", "values": "a, b c"}, {"categories": ["a", "b c"]}),
        ({"kind": "categories", "values": '"b, c", a'}, {"categories": ["b, c", "a"]}),
        ({"kind": "ordered", "values": "low\nhigh, indeed"}, {"ordered": ["low", "high, indeed"]}),
        ({"kind": "boolean"}, {"boolean": "true"}),
    ],
)
def test_columns(said: dict[str, str], meant: dict[str, Any]) -> None:
    assert forms.attribute(fields(**said), None) == meant
    kept = {"unit": ["year", "years"], "trim": "true"}
    assert forms.attribute(fields(**said), {"date": ["a", "b"], **kept}) == meant | kept


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ({"secret": "public"}, "public"),
        ({"secret": "within", "within": "5"}, {"within": "5"}),
        ({"secret": "blocks", "blocks": "a, b\n\nc\n"}, {"blocks": [["a", "b"], ["c"]]}),
        ({"secret": "blocks", "blocks": '"a, b", c\n"say ""d"""\n'}, {"blocks": [["a, b", "c"], ['say "d"']]}),
    ],
)
def test_secrets(said: dict[str, str], meant: object) -> None:
    assert forms.secret(fields(**said)) == meant


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ({"kind": "histogram", "about": ["age", "sex"]}, {"name": "histogram_age_sex", "histogram": ["age", "sex"]}),
        ({"kind": "cdf", "about": ["age"], "by": "sex", "name": "x"}, {"name": "x", "cdf": "age", "by": "sex"}),
        ({"kind": "count", "condition": "age < 3", "name": "n"}, {"name": "n", "count": "age < 3"}),
        ({"kind": "count", "where": "age < 3", "name": "n"}, {"name": "n", "count": "all", "where": "age < 3"}),
        (
            {"kind": "quantiles", "about": ["age"], "name": "q"},
            {"name": "q", "quantiles": "age", "at": ["0.25", "0.5", "0.75"]},
        ),
    ],
)
def test_questions(said: dict[str, Any], meant: dict[str, Any]) -> None:
    assert forms.question(fields(**said)) == meant


@pytest.mark.parametrize("values", [["a", "b, c"], ['say "d"', "e"], ["it's", "x"], [",", '"']])
def test_lists_are_read_as_they_are_written(values: list[str]) -> None:
    assert forms.listed(forms.as_line(values)) == values


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ({"metric": "l2", "over": ["x", "y"], "within": "3"}, {"metric": "l2", "over": ["x", "y"], "within": "3"}),
        ({"metric": "l2", "over": ["x"], "within": "3"}, None),
        ({"metric": "nonsense", "over": ["x", "y"], "within": "3"}, None),
    ],
)
def test_maps(said: dict[str, Any], meant: dict[str, Any] | None) -> None:
    if meant is not None:
        assert forms.joint(fields(**said)) == meant
        return
    with pytest.raises(PolicyError, match="two columns"):
        forms.joint(fields(**said))


def test_targets() -> None:
    assert forms.target(fields(error="5% from 1000")) == "5% from 1000"
    assert forms.target(fields(error="0.5", records="800")) == {"within": "0.5", "records": "800"}
    assert forms.target({}) is None


def test_what_no_form_says_is_refused() -> None:
    for wrong in (lambda: forms.attribute({}, None), lambda: forms.secret({}), lambda: forms.question({})):
        with pytest.raises(PolicyError, match="choose one"):
            wrong()
    for path in ("", "[]", "{}", '[{"a": 1}]', "[[1]]", "nonsense"):
        with pytest.raises(PolicyError, match="load the page again"):
            forms.path_of(fields(path=path))
    assert forms.path_of(fields(path='["release", 0]')) == ("release", 0)

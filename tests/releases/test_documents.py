"""Plans and certificates as plain data."""

from __future__ import annotations

import json
from fractions import Fraction

import tetraodon as td
from tetraodon.releases.codec import certificate_document, number, plan_document, value_document


def test_a_plan_is_json_with_exact_numbers_beside_the_rounded(policy: td.Policy) -> None:
    document = plan_document(td.plan(policy, epsilon="1/3"))
    assert json.loads(json.dumps(document)) == document
    assert document["certificate"]["epsilon_exact"] == "1/3"
    assert document["certificate"]["epsilon"] == float(Fraction(1, 3))
    for item in document["queries"]:
        assert {"name", "mechanism", "epsilon", "expected_error", "baseline_error", "certificate"} <= item.keys()
        assert {"epsilon", "witness", "method"} <= item["certificate"].keys()


def test_witnesses_are_records_by_name(policy: td.Policy) -> None:
    witness = plan_document(td.plan(policy))["certificate"]["witness"]
    assert all(set(record) == set(policy.domain.names) for record in witness)
    assert value_document(td.research.ABSENT, policy.domain) == "not in the data"


def test_sensitivities_and_infinite_losses(policy: td.Policy) -> None:
    found = certificate_document(td.sensitivity(policy, td.queries.total("income")), policy.domain)
    assert found["sensitivity"] == 1
    rows = [[int(cell == 0) for cell in range(policy.domain.size)]]
    infinite = certificate_document(td.certify(policy, rows, 0), policy.domain)
    assert (infinite["epsilon"], infinite["epsilon_exact"]) == (None, "infinite")


def test_whole_numbers_stay_whole() -> None:
    assert number(Fraction(4, 2)) == 2
    assert isinstance(number(Fraction(4, 2)), int)
    assert number(Fraction(1, 4)) == 0.25

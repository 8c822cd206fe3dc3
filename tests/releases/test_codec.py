"""Measurements and certificates as documents."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from tests.policies import policy_document

import tetraodon as td
from tetraodon.errors import ReleaseError
from tetraodon.query.contribution import Beyond
from tetraodon.query.edge_flows import FlowLine, Flows
from tetraodon.query.linear import LinearQuery, Measurement
from tetraodon.releases.codec import (
    certificate_document,
    measurement_document,
    measurement_from,
    number,
    plan_document,
    value_document,
)

# -- codec ------------------------------------------------------------------------------------------
# What is certified is what is written, and what is read back.


def test_every_measurement_survives_the_file(policy: td.Policy) -> None:
    for item in td.plan(policy):
        for measurement in item.measurements:
            document = json.loads(json.dumps(measurement_document(measurement)))
            found = measurement_from(document, item.item.query, policy.domain)
            assert found.scale == measurement.scale
            assert found.query.by == measurement.query.by
            ours, theirs = found.query.contribution, measurement.query.contribution
            assert type(ours) is type(theirs)
            assert (ours.names, ours.rows, ours.unit) == (theirs.names, theirs.rows, theirs.unit)


def test_scales_are_exact() -> None:
    policy = td.load_policy(
        policy_document(
            attributes={"x": {"integer": [1, 3]}},
            budget={"epsilon": "1/3"},
            release=[{"name": "h", "histogram": ["x"]}],
        )
    )
    (measurement, *_) = td.plan(policy)["h"].measurements
    assert measurement_document(measurement)["noise"]["scale"] == "6"
    assert measurement.scale == Fraction(6)


def test_trees_survive_the_file(policy: td.Policy) -> None:
    here = td.load_policy({"dataset": "d", "attributes": {"x": ["a", "b", "c"]}, "budget": {"epsilon": 1}})
    given = Measurement(LinearQuery(Beyond.of("x", (1, 1, 0))), Fraction(3, 7))
    document = json.loads(json.dumps(measurement_document(given)))
    query = policy.items[0].query
    found = measurement_from(document, query, here.domain).query.contribution
    assert isinstance(found, Beyond)
    assert (found.parents, found.matrix.tolist()) == ((1, 1, 0), [[1, 0, 1], [0, 0, 1]])
    for wrong in ([1, 1], [1, 2, 0], [1, 1, 3], [1, 1, "0"], 3):
        broken = document | {"counts": document["counts"] | {"parents": wrong}}
        with pytest.raises(ReleaseError, match="Fix:"):
            measurement_from(broken, query, here.domain)


def test_flows_survive_the_file(policy: td.Policy) -> None:
    here = td.load_policy(
        {"dataset": "d", "attributes": {"x": {"integer": [0, 3]}, "y": {"integer": [0, 6]}}, "budget": {"epsilon": 1}}
    )
    flows = Flows(("x", "y"), FlowLine(7, Fraction(7, 3), 3, Fraction(5)), FlowLine(4, Fraction(1)))
    given = Measurement(LinearQuery(flows), Fraction(3, 7))
    document = json.loads(json.dumps(measurement_document(given)))
    query = policy.items[0].query
    assert measurement_from(document, query, here.domain) == given
    for key, wrong in (("steps", "0"), ("width", 7), ("smooth", "much"), ("width", 0)):
        broken = json.loads(json.dumps(document))
        broken["counts"]["borders"][0][key] = wrong
        with pytest.raises(ReleaseError, match="Fix:"):
            measurement_from(broken, query, here.domain)


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"counts": {"kind": "os.system"}, "by": [], "noise": None},
        {"counts": {"kind": "running", "rows": 2}, "by": [], "noise": None},
        {"counts": {"kind": "records"}, "by": [], "noise": {"scale": "much"}},
        {"counts": {"kind": "records"}, "by": [{}], "noise": None},
    ],
)
def test_what_is_not_a_measurement_is_refused(document: dict[str, object], policy: td.Policy) -> None:
    with pytest.raises(ReleaseError, match="Fix:"):
        measurement_from(document, policy.items[0].query, policy.domain)


# -- documents --------------------------------------------------------------------------------------
# Plans and certificates as plain data.


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

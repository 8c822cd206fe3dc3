"""The promise in words: every number from the graph by brute force, and no sentence that it does not imply."""

from __future__ import annotations

import itertools
import json
import math
import re

from hypothesis import given, settings
from tests.policy.breadth_first import distances
from tests.policy.policies import policies

from tetraodon.policy.explain import explain
from tetraodon.policy.load import load_policy
from tetraodon.policy.policy import Policy
from tetraodon.policy.secret_graph import ABSENT

SURVEY = {
    "dataset": "d",
    "presence": "public",
    "attributes": {
        "age": {"integer": [17, 90]},
        "sex": ["Female", "Male"],
        "loss": {"integer": [0, 4356], "unit": "USD"},
    },
    "secrets": {"loss": {"within": 100}, "age": {"within": 5}, "sex": "public"},
    "together": "one attribute at a time",
    "budget": {"epsilon": 0.5},
}


def vertices(policy: Policy) -> list[object]:
    records: list[object] = [policy.domain.value(cell) for cell in range(policy.domain.size)]
    return [*records, ABSENT] if policy.graph.absent else records


@settings(max_examples=80, deadline=None)
@given(policies(most=2))
def test_every_number_is_that_of_a_search(document: dict) -> None:
    policy = load_policy(document)
    records = vertices(policy)
    edges = {(x, y) for x, y in itertools.product(records, records) if policy.graph.is_edge(x, y)}
    for example in explain(policy).examples:
        x = policy.domain.value_of(example.first)
        y = ABSENT if example.second is None else policy.domain.value_of(example.second)
        assert x != y
        steps = distances(records, lambda a, b: (a, b) in edges, x)[y]
        if steps == math.inf:
            assert example.steps is example.odds is example.chance is None
            assert "not protected" in example.sentence
            continue
        assert example.steps == steps
        odds = math.exp(policy.epsilon * int(steps))
        assert math.isclose(float(example.odds), odds, rel_tol=1e-12)
        assert math.isclose(float(example.chance), odds / (1 + odds), rel_tol=1e-12)
        said = re.search(r"at most ([\d.,e+]+) times \((?:.*, ([\d.]+)% truthful\)$)?", example.sentence)
        assert said is not None
        assert odds <= float(said[1].replace(",", "")) * (1 + 1e-9) <= max(odds * 1.1, odds + 0.02)
        assert (said[2] is None) == (odds > 1000) == example.sentence.endswith("no protection worth the name")
        if said[2] is not None:
            assert 100 * odds / (1 + odds) - 1e-9 <= float(said[2]) < min(100, 100 * odds / (1 + odds) + 0.1001)


@settings(max_examples=80, deadline=None)
@given(policies(most=2, groups=False))
def test_no_sentence_goes_beyond_the_graph(document: dict) -> None:
    policy = load_policy(document)
    records = [policy.domain.value(cell) for cell in range(policy.domain.size)]
    reach = {
        (x, y): policy.graph.distance(x, y) for x, y in itertools.product(records, records) if x != y
    }  # equal to a search, as test_secret_graph shows
    explanation = explain(policy)
    told = {part.title: part.sentences for part in explanation.parts}
    whole = " ".join(explanation.text.split())
    for place, name in enumerate(policy.domain.names):
        alone = {
            distance
            for (x, y), distance in reach.items()
            if all((a != b) == (here == place) for here, (a, b) in enumerate(zip(x, y, strict=True)))
        }
        for sentence in (*told.get(name, ()), *told["What is not protected"]):
            if sentence.startswith(f"Any two values of {name} are a secret: one step apart."):
                assert alone == {1}
            if sentence.startswith(f"{name} is not protected"):
                assert alone == {math.inf}
            if sentence.startswith(f"The block that a person's {name} is in is not protected"):
                assert alone == {1, math.inf}
            if sentence.startswith(f"No step changes {name}, whose grid is wider"):
                assert alone == {math.inf}
            if sentence.startswith(f"{name} has a single value"):
                assert alone == set()
            if sentence.startswith("Any other two values are two steps apart"):
                assert alone <= {1, 2}
            if sentence.startswith(f"No two values of {name} are a secret by themselves"):
                assert alone == {2}
    if "nothing about a person is left wholly unprotected" in whole:
        assert all(distance <= 2 for distance in reach.values())
    assert ("it protects nothing" in whole) <= (not policy.graph.has_edges)
    assert ("What this costs" in told) == policy.graph.absent
    assert ("The number of records is not protected" in whole) == policy.size_is_public


@settings(max_examples=40, deadline=None)
@given(policies())
def test_text_and_document_are_for_people_and_programs(document: dict) -> None:
    explanation = explain(load_policy(document))
    read = json.loads(json.dumps(explanation.document, allow_nan=False))
    assert [part["title"] for part in read["parts"]] == [part.title for part in explanation.parts]
    assert "smoking causes cancer" in " ".join(explanation.text.split())


def test_the_handbook_sentences() -> None:
    text = explain(load_policy(SURVEY)).text
    assert "age 53 rather than 58: the odds move at most 1.65 times (one step, 62.3% truthful)" in text
    assert "age 53 rather than 59: the odds move at most 2.72 times (2 steps, 73.2% truthful)" in text
    assert "Two values of loss that are at most 100 USD apart are a secret" in text
    assert "sex is not protected: anyone may learn it from a release." in text
    assert "sex Female rather than Male: not protected, whatever epsilon is" in text
    assert "The number of records is not protected" in text
    assert "so the odds multiply" in text
    assert "What this costs" not in text


def test_presence_secret_says_what_it_costs() -> None:
    flat = " ".join(explain(load_policy({**SURVEY, "presence": "secret"})).text.split())
    assert "being in the data rather than not being in it: the odds move at most 1.65 times" in flat
    assert "sex Female rather than Male: the odds move at most 2.72 times (2 steps" in flat
    assert "sex is not released exactly" in flat
    assert "none is released exactly, not even of a public attribute" in flat


def test_rows_of_one_person_change_together() -> None:
    flat = " ".join(explain(load_policy({**SURVEY, "individuals": {"key": "who", "at most": 3}})).text.split())
    assert "is 3 times that of one row" in flat
    assert "'no row' is one step from every row" in flat
    assert "The column who says whose row it is" in flat


def test_a_policy_without_secrets_says_so() -> None:
    nothing = {**SURVEY, "secrets": dict.fromkeys(SURVEY["attributes"], "public")}
    assert "it protects nothing" in explain(load_policy(nothing)).text


def test_huge_attributes_and_epsilons_cost_nothing() -> None:
    huge = {
        **SURVEY,
        "attributes": {"id": {"integer": [1, 10**12]}, "u": {"integer": [1, 10**12]}},
        "secrets": {"id": {"within": 1}, "u": {"pairs": [[1, 10**12]]}},
        "budget": {"epsilon": 1000},
    }
    explanation = explain(load_policy(huge))
    flat = " ".join(explanation.text.split())
    assert "id 1 rather than 1000000000000: the odds move more than 1e+100 times" in flat
    assert "means for the whole release. It is no protection worth the name" in flat
    assert "truthful" not in flat
    assert "u 1 rather than 1000000000000" in explanation.text
    json.dumps(explanation.document, allow_nan=False)


def test_only_edges_are_spoken_of_where_steps_cannot_be_counted() -> None:
    globe = {
        **SURVEY,
        "attributes": {"lat": {"integer": [-90, 90]}, "lon": {"integer": [-180, 180]}},
        "secrets": {},
        "together": {"metric": "great circle km", "over": ["lat", "lon"], "within": 200},
    }
    explanation = explain(load_policy(globe))
    assert "at most 200 km apart on the globe" in explanation.text
    assert {example.steps for example in explanation.examples} <= {1}


def test_people_with_secrets_of_their_own_are_told_theirs() -> None:
    groups = {"by": "sex", "rules": {"Male": {"secrets": {"age": {"within": 10}}}, "Female": "none"}}
    text = " ".join(explain(load_policy({**SURVEY, "groups": groups})).text.split())
    assert "depends on their sex, which is not protected" in text
    assert "age, for people whose sex is Male" in text
    assert "at most 10 apart are a secret" in text
    assert "Those who do not mind" in text
    assert "people whose sex is Female. Nothing is promised" in text
    assert "They still count" not in text
    known = " ".join(explain(load_policy({**SURVEY, "groups": groups, "known": [{"count": "age < 30"}]})).text.split())
    assert "They still count" in known
    secret = " ".join(explain(load_policy({**SURVEY, "groups": groups, "presence": "secret"})).text.split())
    assert "Two records with the same sex are at most two steps apart" in secret


def test_an_adversary_is_told_of() -> None:
    text = " ".join(
        explain(load_policy(SURVEY | {"adversary": {"prior": {"d": 0.001}, "posterior": 0.2}})).text.split()
    )
    assert "A published view" in text
    assert "with probability at most 0.001, that the table has some record" in text
    assert "A published view" not in explain(load_policy(SURVEY)).text


def test_no_chain_of_steps_leads_over_what_is_impossible() -> None:
    """P(0), P(2) > 0 and P(1) = 0: two steps of odds that nobody can have bound nothing."""
    chain = {
        "along": "time",
        "transition": [["0.8", "0.1", "0.1"], ["0.1", "0.8", "0.1"], ["0.1", "0.1", "0.8"]],
        "start": ["1/2", 0, "1/2"],
        "source": "a study of 2007",
    }
    policy = {
        "dataset": "d",
        "presence": "public",
        "attributes": {"level": {"integer": [0, 2]}},
        "secrets": {"level": {"within": 1}},
        "budget": {"epsilon": 1},
    }
    told = explain(load_policy({**policy, "attackers": [{"chain": chain}]}))
    assert {example.steps for example in told.examples} == {1, None}
    flat = " ".join(told.text.split())
    assert "a value between them may be impossible" in flat
    assert "two steps" not in flat
    settled = explain(load_policy({**policy, "attackers": [{"chain": {**chain, "start": "stationary"}}]}))
    assert {example.steps for example in settled.examples} == {1, 2}
    assert "two steps" in settled.text


def test_presence_alone_is_told_by_its_name() -> None:
    document = {"dataset": "d", "attributes": {"x": [1, 2]}, "secrets": "none but presence", "budget": {"epsilon": 1}}
    assert "Presence is the only secret" in explain(load_policy(document)).text
    assert "Presence is the only secret" not in explain(load_policy(document | {"secrets": {}})).text

"""Explanations in words: examples, secrets, attackers, tables, numbers."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import math
import random
import re
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.policy.breadth_first import distances
from tests.policy.mistakes import small
from tests.policy.policies import policies
from tests.policy.test_build_attackers import CHAIN, CONTACTS, read

import tetraodon as td
from tetraodon.domain import Attribute, Categories, Dates, Grid, Integers
from tetraodon.exact.zcdp import rho_at
from tetraodon.noise import laplace_pmf
from tetraodon.policy.adversary import Adversary
from tetraodon.policy.attackers import Attackers
from tetraodon.policy.explain import (
    beliefs,
    chance,
    changed_belief,
    explain,
    fact_in_words,
    factor_examples,
    forgiven,
    known_in_words,
    length,
    moves,
    odds,
    people,
    percent,
    power,
    presence_example,
    record_examples,
    said,
    secret_sentences,
    shown_epsilon,
    times,
    valued,
    view_sentences,
)
from tetraodon.policy.explain import said as filled_in
from tetraodon.policy.load import load_policy
from tetraodon.policy.policy import Policy
from tetraodon.policy.secret_graph import ABSENT

# -- explain ----------------------------------------------------------------------------------------
# The promise in words: every number from the graph by brute force, and no sentence that it does not imply.


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


VIEW = {"prior": {"d": 0.001}, "posterior": 0.2}
GLOBE = {
    "attributes": {"lat": {"integer": [-90, 90]}, "lon": {"integer": [-180, 180]}},
    "secrets": {},
    "together": {"metric": "great circle km", "over": ["lat", "lon"], "within": 200},
}
GROUPS = {"by": "sex", "rules": {"Male": {"secrets": {"age": {"within": 10}}}, "Female": "none"}}


@pytest.mark.parametrize(
    ("changes", "there", "absent"),
    [
        ({}, "age 53 rather than 58: the odds move at most 1.65 times (one step, 62.3% truthful)", "What this costs"),
        ({}, "age 53 rather than 59: the odds move at most 2.72 times (2 steps, 73.2% truthful)", "A published view"),
        ({}, "sex Female rather than Male: not protected, whatever epsilon is", "Presence is the only secret"),
        ({}, "The number of records is not protected", "known already"),
        ({"presence": "secret"}, "being in the data rather than not being in it: the odds", "a release."),
        ({"presence": "secret"}, "none is released exactly, not even of a public attribute", "no secret:"),
        ({"presence": "secret", "secrets": "none but presence"}, "Presence is the only secret", "secret: one step"),
        ({"individuals": {"key": "who", "at most": 3}}, "is 3 times that of one row", "one row each"),
        ({"secrets": dict.fromkeys(SURVEY["attributes"], "public")}, "it protects nothing", "odds move"),
        (GLOBE, "at most 200 km apart on the globe", "2 steps"),
        ({"groups": GROUPS}, "people whose sex is Female. Nothing is promised", "They still count"),
        ({"groups": GROUPS, "known": [{"count": "age < 30"}]}, "They still count", "two steps"),
        ({"adversary": VIEW}, "with probability at most 0.001, that the table has some record", "nearer end"),
        ({"adversary": VIEW, "release": [{"name": "a", "histogram": "age"}]}, "nearer end", "is refused,"),
        ({"known": [{"count": "all"}]}, "Everybody is taken to know how many records there are.", "that two steps"),
        ({"budget": {"epsilon": 20}}, "no protection worth the name", "read in other ways"),
        ({"budget": {"epsilon": 1}}, "recognises the second in at most 13.6% of cases", "delta"),
        ({"budget": {"epsilon": 1, "delta": 0.001}}, "in at most 13.7% of cases", "percentage points"),
    ],
)  # fmt: skip
def test_what_is_said_and_what_is_not(changes: dict, there: str, absent: str) -> None:
    text = " ".join(explain(load_policy({**SURVEY, **changes})).text.split())
    assert there in text
    assert absent not in text


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


# -- examples ---------------------------------------------------------------------------------------
# Examples show what is near and what is far, without writing anything out.


def policy_of(secret: object, form: object, **more: object) -> Policy:
    return load_policy(
        {
            "dataset": "d",
            "presence": "public",
            "attributes": {"a": form, "b": {"integer": [0, 99]}},
            "secrets": {"a": secret, "b": {"within": 10}},
            "budget": {"epsilon": 1},
            **more,
        }
    )


def steps_of(policy: Policy) -> list[int | None]:
    return [example.steps for example in factor_examples(policy, policy.graph.factors[0])]


def test_nearest_first_and_both_sides_of_the_limit() -> None:
    assert steps_of(policy_of({"within": 10}, {"integer": [0, 99]})) == [1, 1, 2, 3, 10]
    assert steps_of(policy_of({"blocks": [[0, 49], [50, 99]]}, {"integer": [0, 99]})) == [1, None, None]
    assert steps_of(policy_of({"pairs": [["a", "b"]]}, ["a", "b", "c"])) == [1, None]
    assert steps_of(policy_of("everything", ["a", "b", "c"])) == [1, 1]
    assert steps_of(policy_of("public", ["a", "b"])) == [None]
    assert steps_of(policy_of("everything", ["a"])) == []


def test_whole_records_differ_in_everything_that_has_secrets() -> None:
    near, far = record_examples(policy_of({"within": 1}, {"integer": [0, 9]}, together="one attribute at a time"))
    assert (near.steps, far.names) == (2, ("a", "b"))
    assert next(example.steps for example in record_examples(policy_of({"within": 1}, {"integer": [0, 9]}))) == 1
    assert record_examples(policy_of("public", ["x", "y"])) == ()


def test_a_joint_metric_has_examples_along_each_axis() -> None:
    together = {"metric": "l1", "over": ["a", "b"], "within": 2}
    policy = policy_of("x", {"integer": [0, 9]}, secrets={}, together=together)
    sentences = [example.sentence for example in factor_examples(policy, policy.graph.factors[0])]
    assert sentences[0].startswith("a 4, b 49 rather than a 5, b 49: the odds move at most 2.72 times (one step")
    assert steps_of(policy) == [1, 1, 1, 1, 2, 2, 54]


def test_presence() -> None:
    example = presence_example(policy_of("public", ["x", "y"], presence="secret"))
    assert (example.steps, example.second) == (1, None)
    assert json.loads(json.dumps(example.document))["odds_at_most"] == "2.72"


def test_no_bound_is_null() -> None:
    policy = policy_of("public", ["x", "y"])
    [example] = factor_examples(policy, policy.graph.factors[0])
    assert example.document == {
        "attributes": ["a"],
        "x": "x",
        "y": "y",
        "steps": None,
        "odds": None,
        "odds_at_most": None,
        "truthful": None,
        "truthful_at_most": None,
    }


# -- secrets in words -------------------------------------------------------------------------------
# What the secrets of an attribute say, as sentences that the graph implies and nothing more.


NUMBER = {"integer": [0, 9]}


def secret_said(form: object, secret: object, **more: object) -> str:
    document = {
        "dataset": "d",
        "presence": "public",
        "attributes": {"a": form, "b": {"real": [0, 30], "step": 10}},
        "secrets": {} if secret is None else {"a": secret},
        "budget": {"epsilon": 1},
        **more,
    }
    policy = load_policy(document)
    return " ".join(secret_sentences(policy, policy.graph.factors[0]))


@pytest.mark.parametrize(
    ("form", "secret", "words"),
    [
        (NUMBER, None, "Any two values of a are a secret: one step apart."),
        (["x", "y"], {"pairs": [["x", "y"]]}, "Any two values of a are a secret: one step apart."),
        (["x"], "public", "a has a single value: there is nothing to tell apart."),
        (["x", "y"], "public", "a is not protected: anyone may learn it from a release."),
        (["x", "y"], {"blocks": [["x"], ["y"]]}, "a is not protected: anyone may learn it from a release."),
        (
            NUMBER,
            {"within": 2.5},
            "at most 2 apart are a secret: one step apart. Values further apart are protected less",
        ),
        (NUMBER, {"blocks": [[0, 3], [4, 9]]}, "The blocks are: 0 to 3; 4 to 9. Which of the blocks a person is in is"),
        (["x", "y", "z"], {"blocks": [["x", "z"], ["y"]]}, "The blocks are: x and z; y."),
        (NUMBER, {"pairs": [[0, 1], [1, 3]]}, "one step apart: 0 and 1; 1 and 3. Two values joined by a chain"),
        (NUMBER, {"pairs": [[n, n + 1] for n in range(9)]}, "; and 1 more."),
        ({"ordered": ["l", "m", "h"]}, {"within": 1}, "that are at most 1 rank apart"),
        ({"date": ["2020-01-01", "2020-12-31"]}, {"within": 7}, "that are at most 7 days apart"),
    ],
)
def test_what_is_said(form: object, secret: object, words: str) -> None:
    assert words in secret_said(form, secret)


@pytest.mark.parametrize("secret", [{"within": 2}, {"blocks": [[0, 3], [4, 9]]}, {"pairs": [[0, 1]]}, "public"])
def test_presence_leaves_nothing_unprotected(secret: object) -> None:
    words = secret_said(NUMBER, secret, presence="secret")
    assert "two steps apart, because it is a secret whether a person is in the data" in words
    assert "not protected" not in words
    keyed = secret_said(NUMBER, secret, individuals={"key": "k", "at most": 2})
    assert "because it is a secret how many rows a person has" in keyed


def policy(**budget: object) -> Policy:
    return load_policy({"dataset": "d", "attributes": {"a": {"integer": [0, 9]}}, "budget": budget})


def passed(policy: Policy) -> str:
    (told,) = filled_in("forgiven", policy, *forgiven(policy))
    return told


def test_the_numbers_are_those_of_the_budget() -> None:
    told = passed(policy(epsilon=1, delta="1e-6"))
    assert "1 in 1,000,000" in told
    assert "1 in 500,000" in told
    assert "1 in 268,941" in told  # 1 / (1e-6 (1 + e))
    assert told in explain(policy(epsilon=1, delta="1e-6")).parts[0].sentences
    assert "delta" not in " ".join(explain(policy(epsilon=1)).parts[0].sentences).lower()


def test_a_budget_in_zcdp_says_so() -> None:
    found = policy(rho="0.5")
    assert "rho 0.5 in zCDP" in passed(found)
    assert shown_epsilon(found.epsilon) == "5.222"
    assert shown_epsilon(Fraction(1, 10)) == "0.1"


def test_odds_twice_as_far_come_up_as_seldom_as_is_said() -> None:
    """Gaussian noise at the rho that the budget allows: the loss is normal with mean rho and variance 2 rho."""
    for epsilon in (0.1, 1.0, 5.0):
        rho = float(rho_at(Fraction(str(epsilon)), Fraction(1, 10**6)))
        far = (epsilon + math.log(2) - rho) / math.sqrt(2 * rho)
        assert math.erfc(far / math.sqrt(2)) / 2 <= 2e-6


def test_those_with_a_rule_come_first_and_the_rest_are_everybody_else() -> None:
    groups = {"by": "c", "rules": {"c": "none", "b": {"secrets": {"x": {"within": 2}}}}}
    policy = load_policy(small(secrets={"c": "public"}, groups=groups))
    found = people(policy)
    assert [(own.whom, own.by, own.codes) for own in found] == [
        ("people whose c is b", "c", (1,)),
        ("people whose c is c", "c", (2,)),
        ("everybody else", "c", (0,)),
    ]
    assert [own.policy.graph.has_edges for own in found] == [True, False, True]
    assert all(own.policy.graph == policy.graph.of_group(own.codes[0]) for own in found)
    assert found[1].one == (0, 0, 2, 0, 0, 0)


def test_groups_that_share_their_secrets_are_told_together() -> None:
    policy = load_policy(small(secrets={"c": "public"}, groups={"by": "c", "rules": {"a": "none", "b": "none"}}))
    assert [own.whom for own in people(policy)] == ["people whose c is a or b", "everybody else"]


# -- table in words ---------------------------------------------------------------------------------
# What a policy says of the table, in sentences: several rows per person, values that do not belong, known figures.


def keyed(most: int, **changed: object) -> td.Policy:
    attributes = {"x": {"integer": [0, 9]}, "y": ["a", "b"]}
    person = {"key": "person", "at most": most}
    return td.load_policy(
        {"dataset": "d", "individuals": person, "attributes": attributes, "budget": {"epsilon": 1}, **changed}
    )


@pytest.mark.parametrize(
    ("changed", "cut"),
    [
        ({}, True),
        ({"secrets": {"x": {"within": 9}}}, True),
        ({"secrets": {"x": {"within": 8}}}, False),
        ({"secrets": {"y": "public"}}, False),
        ({"together": "one attribute at a time"}, False),
        ({"together": {"at most": 2}}, True),
    ],
)
def test_people_with_more_rows_are_left_out_unless_any_two_records_are_a_secret(
    changed: dict[str, object], cut: bool
) -> None:
    policy = keyed(3, **changed)
    assert policy.cuts_rows is cut
    (told,) = said("whose_rows", policy, "3 rows")
    assert ("only that many are used" in told) is cut
    assert ("is left out with all of them" in told) is not cut
    assert told in td.explain(policy).text.replace("\n", " ")


POLICY = {
    "dataset": "d",
    "attributes": {"sex": ["F", "M"], "age": {"integer": [0, 99]}},
    "secrets": {"age": {"within": 5}},
    "together": "one attribute at a time",
    "known": [
        {"count": "all"},
        {"count": "sex = 'F'"},
        {"marginal": ["sex", "age"], "bins": {"age": [[0, 17], [18, 99]]}},
        {"rectangle": {"age": [10, 20]}},
    ],
    "budget": {"epsilon": 1},
}


def test_every_kind_of_fact() -> None:
    policy = td.load_policy(POLICY)
    assert [fact_in_words(entry.fact, policy.domain) for entry in policy.known] == [
        "how many records there are",
        "how many records satisfy sex = 'F'",
        "the exact table by sex and groups of age",
        "how many records have age 10 to 20",
    ]


def test_only_single_steps_are_bounded() -> None:
    for presence in ("public", "secret"):
        told = td.explain(td.load_policy({**POLICY, "presence": presence}))
        assert "Everybody is taken to know the exact table by sex and groups of age." in told.text
        assert {example.steps for example in told.examples} <= {None, 1}
        assert not re.search(r"two steps|more step|odds multiply|two values that two", told.text)
        assert "No other exact figure" in " ".join(told.text.split())
    nothing = td.explain(td.load_policy({**POLICY, "known": []}))
    assert "known already" not in nothing.text


@pytest.mark.parametrize(
    ("ends", "told"),
    [
        ({"at least": 1}, "that at least 1 record satisfies x = 3"),
        ({"at most": 100}, "that at most 100 records satisfy x = 3"),
        ({"at least": 1, "at most": 2}, "that at least 1 and at most 2 records satisfy x = 3"),
    ],
)
def test_one_record_is_not_several(ends: dict[str, int], told: str) -> None:
    policy = td.load_policy(
        {
            "dataset": "d",
            "attributes": {"x": {"integer": [0, 9]}},
            "budget": {"epsilon": 1},
            "known": [{"count": "x = 3", **ends}],
        }
    )
    assert known_in_words(policy.known[0], policy.domain) == told


# -- attackers in words -----------------------------------------------------------------------------
# Who might attack, in words: what rows depend on, and what a view's attacker may come to believe.


def test_every_kind_says_what_is_not_covered() -> None:
    for entry in ("independent", {"groups": "home", "at most": 5}, {"chain": CHAIN}, {"contacts": CONTACTS}):
        attackers = read([entry]).attackers
        assert "not covered" in said(f"against_{attackers.kind}", attackers, 0)[0]
        assert (
            said(f"against_{attackers.kind}", attackers, 0)[0]
            in explain(read([entry])).document["parts"][-3]["sentences"]
        )


def cost_of_dependence(attackers: Attackers) -> tuple[str, ...]:
    return said(f"cost_of_{attackers.kind}", attackers, 0)


def test_groups_and_chains_say_what_they_cost() -> None:
    assert cost_of_dependence(read(["independent"]).attackers) == ()
    assert "5 rows" in cost_of_dependence(read([{"groups": "home", "at most": 5}]).attackers)[0]
    assert "at most 1.282 times" in cost_of_dependence(read([{"contacts": CONTACTS}]).attackers)[0]
    (told,) = cost_of_dependence(read([{"chain": CHAIN}]).attackers)
    assert told in " ".join(explain(read([{"chain": CHAIN}])).text.split())


ATTACKERS_IN_WORDS_POLICY = {
    "dataset": "people",
    "attributes": {"age": {"integer": [20, 39]}, "nationality": ["American", "British", "Indian"]},
    "budget": {"epsilon": 3},
}


def told(**adversary: object) -> str:
    return " ".join(
        view_sentences(load_policy({**ATTACKERS_IN_WORDS_POLICY, "adversary": {"posterior": 0.5, **adversary}}))
    )


@given(st.fractions(Fraction(1, 10**9), Fraction(1, 2)), st.fractions(Fraction(51, 100), Fraction(99, 100)))
def test_numbers_are_rounded_so_that_they_hold(prior: Fraction, gamma: Fraction) -> None:
    first, second = beliefs(Adversary(d=prior, gamma=gamma), prior)
    before, after = (
        Fraction(number) for number in re.findall(r"probability at most ([\d.e-]+),.* more than ([\d.]+)%", first)[0]
    )
    assert prior * Fraction(999, 1000) <= before <= prior
    assert 100 * gamma <= after <= 100 * gamma * Fraction(1001, 1000)
    kept = re.search(r"fall below ([\d.e-]+) of", second)
    assert kept is not None
    assert Fraction(kept[1]) <= prior / gamma


@pytest.mark.parametrize(
    ("adversary", "words"),
    [
        (
            {"prior": {"d": 0.2}},
            "will not believe it with more than 50% after. Nor will their belief in it fall below 0.4",
        ),
        (
            {"prior": {"k": 2}, "records": 6},
            "That prior is 2 times n/m, the average chance of a tuple: 6 records, divided",
        ),
        ({"prior": {"k": 2}}, "with probability at most 2 n/m, that the table has some record"),
        ({"prior": {"d": 0.2}, "kind": "exclusive"}, "may fall: that cannot be excluded"),
        ({"prior": {"d": 0.2}, "views": 6}, "That holds for all 6 planned views together"),
        ({"prior": {"d": 0.2}, "rows": "distinct"}, "no two records of the table are equal"),
        ({"prior": {"d": 0.2}}, "may be up to epsilon 3"),
    ],
)
def test_what_is_said_of_attackers_in_words(adversary: dict, words: str) -> None:
    assert words in told(**adversary)


def test_groups_beside_what_is_known_are_not_said_to_be_cut() -> None:
    """A table with more rows of a group is then refused, so that nobody is told that some are left out."""
    attackers = read([{"groups": "home", "at most": 5}]).attackers
    assert "only that many are counted" in said(f"against_{attackers.kind}", attackers, 0)[0]
    assert "more than 5 rows, or a row has none, is refused" in said(f"against_{attackers.kind}", attackers, 1)[0]
    assert "only that many are counted" not in said(f"against_{attackers.kind}", attackers, 1)[0]


# -- other readings ---------------------------------------------------------------------------------
# Tests and beliefs after a release, beside all tests and priors of small worlds.


@given(st.fractions(Fraction(1, 100), 4, max_denominator=100), st.fractions(Fraction(1, 50), Fraction(1, 2)))
def test_no_test_of_a_noisy_count_is_stronger(epsilon: Fraction, alarm: Fraction) -> None:
    """The best tests of one count against the next are thresholds (Neyman and Pearson), with a coin there."""
    most = float(power(epsilon, Fraction(0), alarm))
    chances = [laplace_pmf(1 / epsilon, k) for k in range(-60, 61)]
    found, left = 0.0, float(alarm)
    for below, above in zip(reversed(chances), reversed([0.0, *chances[:-1]]), strict=True):
        share = min(1.0, left / below) if below else 1.0
        found, left = found + share * above, left - share * below
        if share < 1:
            break
    assert found <= most + 1e-9


def test_the_power_is_attained_where_an_output_is_as_likely_as_allowed() -> None:
    """A coin that tells the truth with chance e^epsilon / (1 + e^epsilon), and a test that trusts it half the time."""
    truth = math.e / (1 + math.e)
    alarm = Fraction(1, 20)
    trusted = float(alarm) / (1 - truth)
    assert float(power(Fraction(1), Fraction(0), alarm)) == pytest.approx(truth * trusted)
    assert float(power(Fraction(0), Fraction(1, 100), alarm)) == pytest.approx(0.06)


def test_no_belief_changes_further_and_some_changes_as_far() -> None:
    """Two records of two values, the first told by a coin: every event, priors at random, the record a step off."""
    chance, worst = random.Random(1), 0.0
    datasets = list(itertools.product((0, 1), repeat=2))
    truth = math.e / (1 + math.e)
    for _ in range(4000):
        prior = [chance.random() ** 4 for _ in datasets]
        seen = [truth if dataset[0] == 1 else 1 - truth for dataset in datasets]
        off = [1 - each for each in seen]
        after = [[p * s for p, s in zip(prior, told, strict=True)] for told in (seen, off)]
        after = [[each / sum(side) for each in side] for side in after]
        apart = sum(abs(one - other) for one, other in zip(*after, strict=True)) / 2
        worst = max(worst, apart)
    most = float(changed_belief(Fraction(1)))
    assert most == pytest.approx(math.tanh(0.5))
    assert most * 0.999 < worst <= most + 1e-12


# -- words ------------------------------------------------------------------------------------------
# Numbers in words: what is 'at most' is never rounded down.


epsilons = st.fractions(Fraction(1, 1000), 40, max_denominator=1000)


@given(epsilons, st.integers(0, 10))
def test_odds_and_chances_are_the_formulas_rounded_up(epsilon: Fraction, steps: int) -> None:
    exact = odds(epsilon, steps)
    assert math.isclose(float(exact), math.exp(epsilon * steps), rel_tol=1e-12)
    said = Decimal(times(exact).replace(",", ""))
    assert exact <= said <= max(exact + Decimal("0.01"), exact * Decimal("1.1"))
    share = chance(epsilon, steps)
    assert math.isclose(float(share), 1 / (1 + math.exp(-epsilon * steps)), rel_tol=1e-12)
    assert share * 100 <= Decimal(percent(share)[:-1]) < share * 100 + Decimal("0.1")


def test_beyond_all_sense_nothing_is_computed() -> None:
    assert odds(Fraction(10**30), 10**12).is_infinite()
    assert chance(Fraction(10**30), 10**12) == 1
    assert moves(odds(Fraction(10**30), 10**12)) == moves(odds(Fraction(300), 1)) == "more than 1e+100 times"
    assert moves(odds(Fraction(1), 1)) == "at most 2.72 times"


@pytest.mark.parametrize(
    ("epsilon", "said"), [(6, "99.8%"), (7, "99.91%"), (12, "99.9994%"), (17, "99.999996%"), (50, "100%")]
)
def test_a_share_that_is_nearly_all_is_not_said_to_be_all(epsilon: int, said: str) -> None:
    assert percent(chance(Fraction(epsilon), 1)) == said


@pytest.mark.parametrize(
    ("attribute", "said"),
    [
        (Attribute("a", Integers(0, 9), unit="USD"), "2 USD"),
        (Attribute("a", Grid(Fraction(0), Fraction(1), Fraction(1, 4))), "0.5"),
        (Attribute("a", Categories(("a", "b", "c"), ordered=True), other=0), "2 ranks"),
        (Attribute("a", Dates(dt.date(2020, 1, 1), dt.date(2020, 1, 9))), "2 days"),
    ],
)
def test_lengths(attribute: Attribute, said: str) -> None:
    assert length(attribute, 2) == said


def test_values_have_names_where_there_are_several() -> None:
    age, loss = Attribute("age", Integers(0, 9)), Attribute("loss", Integers(0, 9), unit="USD")
    assert valued([loss], [3]) == "3 USD"
    assert valued([age, loss], [3, 4]) == "age 3, loss 4 USD"
    assert valued([age, loss], [3, 4], most=1) == "age 3, ..."

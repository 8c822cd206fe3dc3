"""Attackers: read from a policy file, and what they imply."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from tetraodon.errors import PolicyError, Refused, TetraodonError
from tetraodon.policy.attackers import (
    INDEPENDENT,
    Chain,
    Contacts,
    DependentGroups,
    checked_source,
    is_ergodic,
    stationary,
    transition_matrix,
)
from tetraodon.policy.load import load_policy
from tetraodon.policy.policy import Policy

# -- build attackers --------------------------------------------------------------------------------
# From the file to the attackers that are priced: the worst of those listed, and no combination without a price.


MATRIX = [["0.9", "0.1"], ["0.4", "0.6"]]
CONTACTS = {"at most": 5, "influence": "1.2", "source": "a study of 2007"}
CHAIN = {"along": "time", "states": 2, "transition": MATRIX, "start": "stationary", "source": "a study of 2007"}


def read(attackers: list[Any], **changes: Any) -> Policy:
    base = {"dataset": "power", "presence": "public", "attributes": {"on": "boolean"}, "budget": {"epsilon": 1}}
    return load_policy(base | {"attackers": attackers} | changes)


def test_the_worst_of_those_listed_is_priced() -> None:
    assert read(["independent"]).attackers == INDEPENDENT
    assert read(["independent", {"groups": "home", "at most": 5}]).attackers == DependentGroups("home", 5)
    assert read([{"contacts": CONTACTS}]).attackers == Contacts(5, Fraction(6, 5), "a study of 2007")
    chain = read([{"chain": CHAIN}, "independent"]).attackers
    assert isinstance(chain, Chain)
    assert (chain.along, chain.states, chain.starts, chain.length) == ("time", 2, (), 0)


@pytest.mark.parametrize(
    "entry",
    [
        "independent",
        {"groups": "home", "at most": 5},
        {"contacts": CONTACTS},
        {"chain": CHAIN},
        {"chain": CHAIN | {"transition": [MATRIX, [["1/3", "2/3"], ["1/2", "1/2"]]], "start": [1, 0], "length": 100}},
    ],
)
def test_documents_read_back(entry: Any) -> None:
    policy = read([entry])
    again = load_policy(policy.document)
    assert again == policy
    assert again.document == policy.document


@pytest.mark.parametrize(
    ("attackers", "changes", "kind", "words"),
    [
        ([], {}, PolicyError, "nothing would be protected"),
        ([{"groups": "a", "at most": 2}, {"chain": CHAIN}], {}, Refused, "two kinds of dependence"),
        ([{"groups": "a"}], {}, PolicyError, "`at most` is missing"),
        ([{"groups": "a", "at most": 2}], {"known": [{"marginal": "on"}]}, Refused, "beside one known count"),
        ([{"groups": "a", "at most": 2}], {"individuals": {"key": "k", "at most": 2}}, Refused, "several rows"),
        (
            [{"groups": "a", "at most": 2}],
            {
                "attributes": {"on": "boolean", "sex": ["f", "m"]},
                "secrets": {"sex": "public"},
                "groups": {"by": "sex", "rules": {"f": "none"}},
            },
            Refused,
            "secrets of their own",
        ),
        ([{"chain": CHAIN}], {"presence": "secret"}, Refused, "no one is absent"),
        ([{"chain": CHAIN}], {"attributes": {"on": "boolean", "b": "boolean"}}, Refused, "one attribute"),
        ([{"chain": CHAIN | {"states": 3}}], {}, PolicyError, "3 states and on has 2 values"),
        ([{"chain": CHAIN | {"source": "Power"}}], {}, Refused, "estimated from the protected table"),
        (
            [{"chain": CHAIN | {"source": "counts of power-2008"}}],
            {"dataset": "power-2008"},
            Refused,
            "estimated from the protected table",
        ),
        ([{"chain": CHAIN | {"source": "counted in this table"}}], {}, Refused, "estimated from the protected table"),
        ([{"chain": CHAIN | {"transition": [["0.9", "0.2"], [0, 1]]}}], {}, PolicyError, "sum to 1.1, not to 1"),
        ([{"chain": CHAIN | {"transition": [[1, 0], [0, 1]]}}], {}, Refused, "not ergodic"),
        ([{"chain": CHAIN | {"start": ["0.5", "0.4"], "length": 9}}], {}, PolicyError, "sum to 0.9, not to 1"),
        ([{"chain": None}], {}, PolicyError, "chain"),
        ([{"contacts": None}], {}, PolicyError, "contacts"),
        ([{"contacts": CONTACTS}, {"groups": "a", "at most": 2}], {}, Refused, "two kinds of dependence"),
        ([{"contacts": CONTACTS}], {"known": [{"count": "all"}]}, Refused, "known counts"),
        ([{"contacts": CONTACTS}], {"individuals": {"key": "k", "at most": 2}}, Refused, "several rows"),
        ([{"contacts": CONTACTS}], {"budget": {"epsilon": 1, "delta": "1e-6"}}, Refused, "a delta is not priced"),
        ([{"contacts": CONTACTS}], {"budget": {"rho": 1}}, Refused, "a delta is not priced"),
        ([{"contacts": CONTACTS}], {"population": "panel"}, Refused, "waves lose together"),
        ([{"contacts": CONTACTS | {"influence": 3}}], {}, Refused, "does not die away"),
        ([{"contacts": CONTACTS | {"influence": "0.9"}}], {}, PolicyError, "`influence` is not between"),
        ([{"contacts": CONTACTS | {"at most": 0}}], {}, PolicyError, "`at most` is not between"),
        ([{"contacts": CONTACTS | {"source": "power"}}], {}, Refused, "estimated from the protected table"),
    ],
)
def test_what_has_no_price_is_refused_with_a_fix(
    attackers: list[Any], changes: dict[str, Any], kind: type[TetraodonError], words: str
) -> None:
    with pytest.raises(kind, match=words) as caught:
        read(attackers, **changes)
    assert "Fix: " in str(caught.value)


# -- attackers --------------------------------------------------------------------------------------
# Who might attack, as a policy file can say it: what somebody may believe about how rows depend on each other.


def test_the_stationary_law_stays():
    matrix = transition_matrix([["0.5", "0.25", "0.25"], ["0.1", "0.8", "0.1"], [0, "0.5", "0.5"]])
    law = stationary(matrix)
    assert tuple(sum(law[x] * matrix[x][y] for x in range(3)) for y in range(3)) == law
    assert sum(law) == 1


def test_a_chain_that_never_mixes_has_no_one_law():
    with pytest.raises(PolicyError, match=r"more than one stationary.*Fix"):
        stationary(transition_matrix([[1, 0], [0, 1]]))
    assert stationary(transition_matrix([[0, 1], [1, 0]])) == (
        Fraction(1, 2),
        Fraction(1, 2),
    )  # periodic will do
    assert stationary(transition_matrix([[1, 0], ["1/2", "1/2"]])) == (1, 0)


def test_ergodic_chains_are_those_whose_powers_become_positive() -> None:
    for pattern in range(2**9):
        rows = [[pattern >> (3 * x + y) & 1 for y in range(3)] for x in range(3)]
        if not all(any(row) for row in rows):
            continue
        matrix = transition_matrix([[Fraction(n, sum(row)) for n in row] for row in rows])
        power = matrix
        for _ in range(12):  # beyond (3 - 1)^2 + 1
            power = tuple(
                tuple(sum((row[z] * matrix[z][y] for z in range(3)), Fraction(0)) for y in range(3)) for row in power
            )
        assert is_ergodic(matrix) == all(number > 0 for row in power for number in row)


LAZY = transition_matrix([["0.9", "0.1"], ["0.4", "0.6"]])


def test_a_group_has_a_row() -> None:
    assert DependentGroups("household", 1).at_most == 1
    with pytest.raises(PolicyError, match="at most"):
        DependentGroups("household", 0)


@pytest.mark.parametrize(
    "rows",
    [
        [[0, 1], [1, 0]],
        [[1, 0], [0, 1]],
        [["0.5", "0.5", 0], [0, 1, 0], [0, 0, 1]],
        [[0, 1, 0], [0, 0, 1], [1, 0, 0]],
    ],
)
def test_a_chain_that_never_forgets_is_refused(rows: list[list[object]]) -> None:
    with pytest.raises(Refused, match="not ergodic"):
        Chain("time", (transition_matrix(rows),), (), "a study")


def test_matrices_and_starts_share_their_states() -> None:
    three = transition_matrix([["1/3", "1/3", "1/3"]] * 3)
    with pytest.raises(PolicyError, match="differ in size"):
        Chain("time", (LAZY, three), (), "a study")
    assert Chain("time", (LAZY,), (LAZY[0],), "a study").states == 2


def test_a_start_may_leave_states_out() -> None:
    sure = transition_matrix([[1, 0], [0, 1]])[0]
    assert Chain("time", (LAZY,), (), "a study").always_possible
    assert Chain("time", (LAZY,), (LAZY[0],), "a study").always_possible
    assert not Chain("time", (LAZY,), (LAZY[0], sure), "a study").always_possible


@pytest.mark.parametrize("source", ["  ", "estimated from the protected table", "counted in this data set", "our data"])
def test_numbers_from_the_table_itself_are_refused(source: str) -> None:
    with pytest.raises(Refused):
        checked_source(source)


def test_other_sources_are_kept() -> None:
    assert checked_source("the meter readings of 2007") == "the meter readings of 2007"

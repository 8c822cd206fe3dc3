"""Counting over the domain: equal to enumeration for hundreds of conditions, and exact with 39 digits."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pytest

from tetraodon.domain import Attribute, Booleans, Categories, Dates, Domain, Grid, Integers
from tetraodon.errors import QueryError, Refused
from tetraodon.query.condition.nodes import Always
from tetraodon.query.condition.public_tables import beside
from tetraodon.query.condition.read import read_condition
from tetraodon.query.condition.syntax import Names
from tetraodon.views.domain_count import (
    EXACT,
    ContractionOrder,
    Leaf,
    Node,
    contract,
    counts_by,
    domain_count,
    formula,
    joined,
    leaves,
    network,
    order,
    primes_below,
)
from tetraodon.views.side_tables import Sandbox

PEOPLE = Domain(
    (
        Attribute("age", Integers(20, 25)),
        Attribute("nationality", Categories(("American", "British", "Indian")), other=0),
        Attribute("score", Integers(58, 66)),
        Attribute("weight", Grid(Fraction(1, 10), Fraction(1, 2), Fraction(1, 10))),
        Attribute("insured", Booleans(), other=0),
    )
)
REGIONS = {
    "regions": duckdb.sql("SELECT * FROM (VALUES ('British', 5), ('Indian', NULL), ('Dane', 9)) r(country, gdp)").pl()
}
TYPES = ("BIGINT", "VARCHAR", "BIGINT", "DECIMAL(3, 1)", "BOOLEAN")


@pytest.fixture(scope="module")
def everybody() -> duckdb.DuckDBPyConnection:
    """All 1620 tuples under their own names, in a database that knows nothing of ours."""
    connection = duckdb.connect()
    columns = ", ".join(f"{name} {kind}" for name, kind in zip(PEOPLE.names, TYPES, strict=True))
    connection.execute(f"CREATE TABLE people({columns})")
    rows = [
        [float(v) if isinstance(v, Fraction) else v for v in PEOPLE.value_of(codes)]
        for codes in itertools.product(*(range(size) for size in PEOPLE.shape))
    ]
    connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?)", rows)
    connection.register("given", REGIONS["regions"])
    connection.execute("CREATE TABLE regions AS SELECT * FROM given")
    return connection


ATOMS = (
    "age < {i}", "score < 3 * age - {j}", "score + age between {k} and {k} + 4", "age between {i} and score - 38",
    "nationality in ('Indian', 'American')", "nationality not in (select country from regions where gdp is not null)",
    "nationality not in (select country from regions where gdp > 4 or gdp is null)",
    "nationality like '%i%'", "nationality not like 'B%'", "nationality ilike 'b%'",
    "exists (select 1 from regions r where r.country = nationality and r.gdp * 10 < score)",
    "exists (select 1 from regions t where t.country = nationality and t.gdp * 8 < score)",
    "age > (select 4 * max(gdp) - 14 from regions)", "weight * 3 = 0.9", "weight <= 0.2", "insured", "not insured",
    "case when insured then age > {i} when nationality = 'Indian' then score > {s} end",
    "nullif(age, {i}) > 21", "age / nullif(score - {s}, 0) < 10", "coalesce(nullif(nationality, 'Indian'), 'x') = 'x'",
    "(age % 3 = 0) = insured", "age // 2 <> score // 6", "null", "true", "weight > age / 60", "(age > {i}) is not null",
    "least(age, score - 40) = {i}", "length(nationality) + age > 30", "cast(score as varchar) like '6%'",
    "age is distinct from {i}", "upper(nationality) = 'INDIAN'", "score in ({s}, age + 40, null)",
)  # fmt: skip


def condition(rng: random.Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(ATOMS).format(
            i=rng.randint(20, 25), j=rng.randint(0, 9), k=rng.randint(80, 90), s=rng.randint(58, 66)
        )
    if rng.random() < 0.25:
        return f"not ({condition(rng, depth - 1)})"
    word = rng.choice((" and ", " or "))
    return "(" + word.join(condition(rng, depth - 1) for _ in range(rng.randint(2, 3))) + ")"


@pytest.mark.parametrize("block", range(10))
def test_it_equals_enumeration(
    block: int, everybody: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    if block % 2:  # with joining of small parts switched off, everything goes through the network
        monkeypatch.setattr("tetraodon.views.domain_count.SMALL", 1)
    rng = random.Random(block)
    for _ in range(40):
        asked = condition(rng, rng.randint(0, 4))
        truth = everybody.execute(f"SELECT count(*) FROM people WHERE {asked}").fetchone()
        assert truth is not None
        assert domain_count(PEOPLE, asked, public=REGIONS) == truth[0], asked


def test_groups_equal_enumeration(everybody: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tetraodon.views.domain_count.SMALL", 1)
    rng = random.Random(5)
    for _ in range(40):
        asked = condition(rng, 2)
        sandbox = Sandbox(PEOPLE, REGIONS)
        by = rng.sample(range(5), rng.randint(1, 3))
        found = counts_by(sandbox, read_condition(asked, beside(PEOPLE, "", sandbox.public)), by)
        names = ", ".join(PEOPLE.names[place] for place in by)
        rows = everybody.execute(f"SELECT {names}, count(*) FROM people WHERE {asked} GROUP BY {names}").fetchall()
        assert found.shape == tuple(PEOPLE.shape[place] for place in by)
        assert int(found.sum()) == sum(row[-1] for row in rows)
        for row in rows:
            codes = tuple(PEOPLE.attributes[p].code(_plain(v)) for p, v in zip(by, row[:-1], strict=True))
            assert found[codes] == row[-1], asked


def _plain(value: Any) -> Any:
    return value if isinstance(value, bool | str | int) else str(value)


def test_example_of_the_paper() -> None:
    """[RS07] Example 4.1: the domain holds 549 tuples with score < 3 age, not 190."""
    people = Domain(
        (
            Attribute("age", Integers(20, 39)),
            Attribute("nationality", Categories(("American", "British", "Indian")), other=0),
            Attribute("score", Integers(81, 100)),
        )
    )
    assert domain_count(people, "score < 3 * age") == 549


CHAIN = Domain(tuple(Attribute(f"x{i}", Integers(1, 60)) for i in range(23)))


def test_a_chain_of_predicates_is_exact_to_the_last_of_39_digits() -> None:
    asked = [f"(x{i} + 2 * x{i + 1}) % 7 < {2 + i % 5}" for i in range(22)]
    counts = [1] * 60
    for i in range(22):
        counts = [sum(counts[x - 1] for x in range(1, 61) if (x + 2 * y) % 7 < 2 + i % 5) for y in range(1, 61)]
    assert domain_count(CHAIN, " and ".join(asked)) == sum(counts)
    assert len(str(CHAIN.size)) == 41


def test_a_long_disjunction_does_not_blow_up() -> None:
    asked = [f"x{i} + x{i + 1} = {2 + i}" for i in range(22)]
    no = [1] * 60
    for i in range(22):
        no = [sum(no[x - 1] for x in range(1, 61) if x + y != 2 + i) for y in range(1, 61)]
    assert domain_count(CHAIN, " or ".join(asked)) == 60**23 - sum(no)


def test_disjunctions_of_conjunctions() -> None:
    """(a and b) or (c and d) or ..., over attributes of their own: one minus the product of what fails."""
    asked = " or ".join(f"(x{2 * i} < 31 and x{2 * i} + x{2 * i + 1} > 40)" for i in range(11))
    each = sum(x < 31 and x + y > 40 for x in range(1, 61) for y in range(1, 61))
    assert domain_count(CHAIN, asked) == 60**23 - 60 * (3600 - each) ** 11


def test_too_wide_is_refused_with_its_cost() -> None:
    wide = Domain(tuple(Attribute(f"x{i}", Integers(1, 1000)) for i in range(6)))
    with pytest.raises(Refused, match=r"1\.0e\+12 cells"):
        domain_count(wide, "x0 + x1 + x2 + x3 < 1000")
    clique = " and ".join(f"(x{i} + x{j}) % 3 < 2" for i, j in itertools.combinations(range(6), 2))
    with pytest.raises(Refused, match="operations"):
        domain_count(wide, clique)


def test_a_clique_of_small_attributes_is_counted() -> None:
    small = Domain(tuple(Attribute(f"x{i}", Integers(1, 8)) for i in range(7)))
    clique = " and ".join(f"(x{i} * x{j}) % 3 < 2" for i, j in itertools.combinations(range(7), 2))
    grid = np.indices((8,) * 7) + 1
    holds = np.logical_and.reduce([(grid[i] * grid[j]) % 3 < 2 for i, j in itertools.combinations(range(7), 2)])
    assert domain_count(small, clique) == int(holds.sum())


ORDERED = Domain(
    (
        Attribute("school", Categories(("none", "middle", "high"), ordered=True), other=0),
        Attribute("parents", Categories(("none", "middle", "high"), ordered=True), other=0),
        Attribute("zip", Categories(("100", "200")), other=0),
        Attribute("born", Dates(np.datetime64("2000-01-01").item(), np.datetime64("2000-01-31").item())),
        Attribute("income", Grid(Fraction(0), Fraction(2), Fraction(1, 3))),
    )
)


@pytest.mark.parametrize(
    ("asked", "share"),
    [
        ("school < 'high'", Fraction(2, 3)),
        ("school between 'middle' and 'high'", Fraction(2, 3)),
        ("school < parents", Fraction(1, 3)),
        ("'middle' <= school and school = parents", Fraction(2, 9)),
        ("zip = 100", Fraction(1, 2)),
        ("zip in (100, '200')", Fraction(1)),
        ("born < '2000-01-11'", Fraction(10, 31)),
        ("born + interval 3 day < date '2000-01-05'", Fraction(1, 31)),
        ("extract(day from born) % 2 = 0 and month(born) = 1", Fraction(15, 31)),
        ("income = 1", Fraction(1, 7)),
        ("3 * income > 2.5", Fraction(4, 7)),
        ("SCHOOL = 'none'", Fraction(1, 3)),
    ],
)
def test_words_ranks_and_dates(asked: str, share: Fraction) -> None:
    assert domain_count(ORDERED, asked) == share * ORDERED.size


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        ("agee > 3", "no attribute 'agee'"),
        ("age", "not true or false"),
        ("age and insured", "not true or false"),
        ("nationality", "not true or false"),
        ("nationality = 'Indan'", "not a value of nationality"),
        ("nationality < 'Indian'", "no order"),
        ("nationality in (select country from planets)", "not a public table"),
        ("nationality in (select country from people)", "not a public table"),
        ("nationality in (select country from read_csv('x.csv'))", "`readcsv` is not offered"),
        ("nationality in (select country from (select * from regions))", "no table"),
        ("nationality in (select country from 'x.csv')", "not a public table"),
        ("nationality in (select planet from regions)", "no attribute 'planet'"),
        ("nationality in (select regions.planet from regions)", "no column 'planet'"),
        ("nationality in (select country from regions limit 1)", "`limit`"),
        ("nationality in (select 'x')", "reads no table"),
        ("exists (select 1 from regions as tetraodon_row)", "use a name"),
        ("other.age > 3", "names a table, other,"),
        ("count(*) > 3", "`count` is not offered"),
        ("random() < 0.5", "is not offered"),
        ("age > getvariable('x')", "is not offered"),
        ("age > 3; drop table people", "more than a condition"),
        ("age > 3 group by age", "more than a condition"),
        ("age >", "cannot be read"),
        ("row_number() over () = 1", "is not offered"),
        ("cast(age as json) = 1", "cast"),
        ("age + nationality > 3", "nationality is not a number"),
        ("cast(nationality as integer) = 1", "cannot be converted"),
        ("age like 3 collate nocase", "is not offered"),
        ("age between symmetric 3 and 2", "symmetric"),
    ],
)
def test_bad_conditions_are_refused(asked: str, what: str) -> None:
    with pytest.raises(QueryError, match=what.replace("(", r"\(")) as caught:
        domain_count(PEOPLE, asked, public=REGIONS)
    assert caught.value.fix


def test_a_condition_of_a_thousand_parts() -> None:
    assert domain_count(PEOPLE, " or ".join(f"age = {i}" for i in range(1000))) == PEOPLE.size
    with pytest.raises(QueryError, match="cannot be read"):
        domain_count(PEOPLE, "not " * 3000 + "insured")


def test_huge_domains() -> None:
    huge = Domain(tuple(Attribute(f"x{i}", Integers(-(10**5), 10**5)) for i in range(9)))
    half = (huge.size // (2 * 10**5 + 1)) * 10**5
    assert domain_count(huge, "x4 < 0") == half
    assert math.log10(huge.size) > 47


# -- contraction -------------------------------------------------------------------------------------
# Contractions are exact: equal to the same sums over Python's integers, however long.

NETWORKS = [
    (["ab", "bc", "cd"], ""),
    (["ab", "bc", "ca"], "a"),
    (["abz", "bcz", "z", "cz"], "bc"),
    (["a", "b"], ""),
    (["ab"], "b"),
    (["ab", "ab", "a"], "ba"),
    (["abc", "cde", "eaf"], "f"),
    (["", "a"], "a"),
]


@pytest.mark.parametrize(("indices", "output"), NETWORKS)
@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_sum_of_products(indices: list[str], output: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tetraodon.views.domain_count.EXACT", 2**20)  # so that primes of ten bits are needed at once
    rng = np.random.default_rng(seed)
    sizes = {i: 2 if i == "z" else int(rng.integers(1, 7)) for i in "abcdefz"}
    tables = [rng.integers(-1, 2, [sizes[i] for i in one]) for one in indices]
    steps = order(indices, sizes, output)
    bound = math.prod(sizes[i] for i in set("".join(indices)))
    found = contract(tables, indices, sizes, output, steps, bound)
    truth = np.einsum(",".join(indices) + "->" + output, *tables)
    assert found.shape == truth.shape
    assert (found == truth).all()


def test_long_numbers() -> None:
    ones = [np.ones((100, 100))] * 30
    indices = [chr(97 + n) + chr(98 + n) for n in range(25)]
    found = contract(
        ones[:25],
        indices,
        dict.fromkeys("abcdefghijklmnopqrstuvwxyz", 100),
        "",
        order(indices, dict.fromkeys("abcdefghijklmnopqrstuvwxyz", 100), ""),
        100**26,
    )
    assert found.item() == 100**26


def test_no_table_at_all() -> None:
    assert contract([], [], {}, "", order([], {}, ""), 1).item() == 1


def test_primes() -> None:
    found = primes_below(1000, 10**20)
    assert math.prod(found) > 10**20
    assert all(all(prime % d for d in range(2, prime)) for prime in found)
    with pytest.raises(OverflowError):
        primes_below(10, 10**6)


def test_what_is_too_much_is_known_beforehand() -> None:
    sizes = dict.fromkeys("abcd", 10_000)
    assert order(["ab", "bc"], sizes, "").fits(10**12)
    assert not order(["ab", "bc", "cd", "da", "ac", "bd"], sizes, "").fits(10**16)
    assert ContractionOrder((), 0, 1, 1).limit ** 2 <= EXACT


# -- formula -----------------------------------------------------------------------------------------
# Conditions as networks: negations at the predicates, one index of two values for each disjunction.

DOMAIN = Domain(tuple(Attribute(name, Integers(0, 999)) for name in "abcd"))


def made(asked: str) -> Leaf | Node:
    return formula(read_condition(asked, Names(DOMAIN)))


def test_negations_move_down() -> None:
    found = made("not (a < b and (c > 3 or not d = 1))")
    assert isinstance(found, Node)
    assert not found.every
    assert [leaf.truth for leaf in leaves(found)] == [
        read_condition(asked, Names(DOMAIN)) for asked in ("not a < b", "not c > 3", "d = 1")
    ]


def test_between_is_two_comparisons() -> None:
    assert [leaf.places for leaf in leaves(made("a between b and c"))] == [(0, 1), (0, 2)]


@pytest.mark.parametrize(
    ("asked", "places"),
    [
        ("a < b and (a > 3 or b > 7) and c = 1", [(0, 1), (2,)]),
        ("a < 3 or a > 7 or a = 5", [(0,)]),
        ("a < b and b < c and c < d", [(0, 1), (1, 2), (2, 3)]),
        ("(a < b and b > 3) or (b < c and c > 3)", [(0, 1), (1, 2)]),
    ],
)
def test_parts_are_joined_where_it_costs_nothing(asked: str, places: list[tuple[int, ...]]) -> None:
    assert sorted(leaf.places for leaf in leaves(joined(made(asked), DOMAIN.shape))) == places


def test_a_disjunction_has_one_index_of_its_own() -> None:
    found = joined(made("a < b or b < c or c < d"), DOMAIN.shape)
    indices = [factor.indices for factor in network(found, lambda _: pytest.fail("no table is made yet"))]
    assert indices == [("g0",), ("a0", "a1", "g0"), ("a1", "a2", "g0"), ("a2", "a3", "g0")]


def test_a_long_condition_is_written_without_depth() -> None:
    whole = Node(True, tuple(Leaf(Always(True)) for _ in range(5000)))
    assert whole.truth.weight == 5001

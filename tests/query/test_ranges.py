"""Questions along ordered attributes: running counts, ranges, rectangles, quantiles; and clusters."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.policy.mistakes import small

import tetraodon as td
from tetraodon.domain import Attribute, Categories, Domain, Integers
from tetraodon.errors import PolicyError, QueryError, TetraodonError
from tetraodon.queries import cdf, kmeans, ranges, rectangles
from tetraodon.query.contribution import Prefix
from tetraodon.query.kmeans import KMeans
from tetraodon.query.linear import LinearQuery, Split
from tetraodon.query.query import EveryRange, ListedRanges, RunningCounts, asked_in_words, shape_of
from tetraodon.query.ranges import Rectangles, read_quantile

# -- ranges -----------------------------------------------------------------------------------------
# Ranges as a question.


DOMAIN = Domain((Attribute("x", Integers(10, 19)),))


def test_named_ranges_are_read_by_their_codes_and_any_other_as_every_range() -> None:
    named = ranges("x", {"low": [10, 12], "all": [10, 19]})
    assert named.reading(DOMAIN) == ListedRanges(((0, 2), (0, 9)))
    assert ranges("x").reading(DOMAIN) == EveryRange()
    assert len(named.sums(DOMAIN)) == 1
    assert ranges("x").sums(DOMAIN) == ()


@pytest.mark.parametrize("name", ["  ", "a\nb", "x" * 201])
def test_a_range_has_a_name_that_can_be_printed(name: str) -> None:
    with pytest.raises(PolicyError, match="name of a range"):
        td.load_policy(small(release=[{"name": "r", "ranges": {"x": {name: [0, 4]}}}]))


def test_too_many_are_refused_before_any_is_listed() -> None:
    attributes = {"x": {"integer": [0, 5_000_001]}}
    with pytest.raises(PolicyError, match="too many for 1 listed ranges"):
        td.load_policy(
            {
                "dataset": "d",
                "attributes": attributes,
                "budget": {"epsilon": 1},
                "release": [{"name": "r", "ranges": {"x": [[0, 4]]}}],
            }
        )


# -- cdf --------------------------------------------------------------------------------------------
# Running counts as a question.


CDF_DOMAIN = Domain((Attribute("x", Integers(0, 3)), Attribute("s", Categories(("a", "b")), other=0)))


def test_it_is_read_along_its_attribute_which_comes_last() -> None:
    asked = cdf("x", by="s")
    assert asked.table(CDF_DOMAIN) == (Split("s"), Split("x"))
    assert asked.reading(CDF_DOMAIN) == RunningCounts()
    assert asked.linear(CDF_DOMAIN) == LinearQuery(Prefix("x", 4, 4), (Split("s"),))
    assert asked.sums(CDF_DOMAIN) == ()


def test_in_words_and_drawn() -> None:
    asked = cdf("x", by="s")
    assert asked.sentence(CDF_DOMAIN) == "How many records have x at or below each of its values, for each s."
    drawing = asked.drawing(CDF_DOMAIN, asked.table(CDF_DOMAIN))
    assert (drawing.running, drawing.adds_up, drawing.head) == (True, False, "Running counts of x")


# -- rectangles -------------------------------------------------------------------------------------
# Rectangles of a map as a question.


def policy(*items: dict[str, object], **changes: object) -> td.Policy:
    document: dict[str, object] = {
        "dataset": "taxis",
        "presence": "public",
        "attributes": {"x": {"integer": [0, 3]}, "y": {"integer": [0, 4]}, "kind": ["day", "night"]},
        "secrets": {"kind": "public"},
        "budget": {"epsilon": 1},
        "release": list(items),
    }
    return td.load_policy(document | changes)


def test_it_is_read_and_written() -> None:
    found = policy({"name": "m", "rectangles": ["x", "y"]})
    assert [item.query for item in found.items] == [rectangles("x", "y")]
    assert found.items[0].query == Rectangles(("x", "y"))
    assert td.load_policy(found.document) == found


@pytest.mark.parametrize(
    "item",
    [
        {"rectangles": ["x"]},
        {"rectangles": ["x", "x"]},
        {"rectangles": ["x", "kind"]},
        {"rectangles": ["x", "z"]},
        {"rectangles": ["x", "y"], "by": "kind"},
    ],
)
def test_what_makes_no_sense_is_refused_with_a_fix(item: dict[str, object]) -> None:
    with pytest.raises(TetraodonError) as told:
        policy({"name": "q", **item})
    assert told.value.fix


# -- kmeans -----------------------------------------------------------------------------------------
# Clusters as a question.


def test_it_is_read_and_written_of_kmeans() -> None:
    found = policy({"name": "k", "kmeans": ["y", "x"], "clusters": 4})
    assert [item.query for item in found.items] == [kmeans("y", "x", clusters=4)]
    assert found.items[0].query == KMeans(("y", "x"), 4)
    assert td.load_policy(found.document) == found


@pytest.mark.parametrize(
    "item",
    [
        {"kmeans": ["x", "y"]},
        {"kmeans": ["x", "y"], "clusters": 0},
        {"kmeans": ["x", "y"], "clusters": 21},
        {"kmeans": ["x", "y"], "clusters": "many"},
        {"kmeans": ["x", "kind"], "clusters": 2},
        {"kmeans": ["x", "x"], "clusters": 2},
        {"histogram": "x", "clusters": 2},
    ],
)
def test_what_makes_no_sense_is_refused_with_a_fix_of_kmeans(item: dict[str, object]) -> None:
    with pytest.raises(TetraodonError) as told:
        policy({"name": "q", **item})
    assert told.value.fix


def test_clusters_are_whole_numbers() -> None:
    for wrong in (True, 1.5, 0):
        with pytest.raises(QueryError):
            kmeans("x", clusters=wrong)  # type: ignore[arg-type]


# -- quantiles --------------------------------------------------------------------------------------
# Quantiles of running counts.


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8).filter(any), st.fractions(0, 1))
def test_exact_counts_give_the_sample_quantile(counts: list[int], share: Fraction) -> None:
    sample = [value for value, count in enumerate(counts) for _ in range(count)]
    running = np.cumsum(counts).astype(float)
    rank = max(1, -(-share.numerator * len(sample) // share.denominator))
    found = read_quantile(running, running, running, share)
    assert found[0] == found[1] == found[2] == sample[rank - 1]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8).filter(any), st.fractions(0, 1), st.integers(0, 4))
def test_wider_counts_give_wider_intervals(counts: list[int], share: Fraction, reach: int) -> None:
    running = np.cumsum(counts).astype(float)
    lower, upper = running - reach, running + reach
    lower[-1] = upper[-1] = running[-1]
    code, low, high = read_quantile(running, lower, upper, share)
    assert low <= code <= high
    exact = read_quantile(running, running, running, share)[0]
    assert low <= exact <= high


def policy_of_quantiles(item: dict[str, object]) -> td.Policy:
    base = {"dataset": "d", "presence": "public", "attributes": {"age": {"integer": [0, 9]}, "sex": ["f", "m"]}}
    return td.load_policy({**base, "budget": {"epsilon": 1}, "release": [{"name": "m", **item}]})


def test_a_median_is_the_quantile_at_one_half() -> None:
    said = policy_of_quantiles({"median": "age", "by": "sex"})
    assert said == policy_of_quantiles({"quantiles": "age", "at": [0.5], "by": "sex"})
    assert said.items[0].query == td.queries.median("age", by="sex") == td.queries.quantiles("age", at=[0.5], by="sex")
    assert asked_in_words(td.queries.median("age")) == "median of age"
    assert td.queries.median("age").drawing(said.domain, ()).head == "Median of age"
    assert asked_in_words(td.queries.quantiles("age")) == "quantiles of age"


def test_a_median_is_at_nothing_else() -> None:
    told = "release.1: a median is the quantile at 0.5. Fix: leave `at` out, or write `quantiles`."
    with pytest.raises(td.errors.PolicyError) as caught:
        policy_of_quantiles({"median": "age", "at": [0.1]})
    assert str(caught.value) == told
    with pytest.raises(td.errors.PolicyError, match="this says both `quantiles` and `median`"):
        policy_of_quantiles({"median": "age", "quantiles": "age"})


# -- data shape -------------------------------------------------------------------------------------
# What may be said of where records are, and what not.


def policy_of_data_shape(**item: object) -> td.Policy:
    return td.load_policy(
        {
            "dataset": "d",
            "attributes": {"x": {"integer": [0, 9]}, "y": {"integer": [0, 9]}},
            "budget": {"epsilon": 1},
            "release": [{"name": "r", **item}],
        }
    )


def test_it_is_read_and_written_back() -> None:
    for item, query in (
        ({"cdf": "x"}, cdf("x", shape="sparse")),
        ({"ranges": "x"}, ranges("x", shape="sparse")),
        ({"rectangles": ["x", "y"]}, rectangles("x", "y", shape="sparse")),
    ):
        read = policy_of_data_shape(shape="sparse", **item)
        assert read.items[0].query == query
        assert query.document() == {**item, "shape": "sparse"}
        assert "shape" not in policy_of_data_shape(**item).items[0].query.document()


def test_nothing_else_is_known() -> None:
    with pytest.raises(QueryError, match="no shape of data"):
        shape_of("dense")
    with pytest.raises(PolicyError, match="no shape of data"):
        policy_of_data_shape(cdf="x", shape="dense")
    with pytest.raises(PolicyError, match="means nothing for `histogram`"):
        policy_of_data_shape(histogram="x", shape="sparse")

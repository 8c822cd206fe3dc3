"""Plans: choices, budgets and the tables that show them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.policies import policy_document, public_policy
from tests.releases.conftest import POLICY
from tests.worlds import graphs, positive, queries

import tetraodon as td
from benchmarks.edits import KINDS, demo, edit, edits, ten_attributes
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.cli.plan_words import notes
from tetraodon.errors import Refused
from tetraodon.mechanism.one_scale import DIRECT, EXACT, IDENTITY
from tetraodon.mechanism.strategy import Strategy
from tetraodon.noise.laws import LAPLACE
from tetraodon.policy.policy import Item, Policy
from tetraodon.queries import count
from tetraodon.query.contribution import AllRanges
from tetraodon.releases import proposals as best_proposal
from tetraodon.releases import proposals as budget
from tetraodon.releases.codec import (
    PLAN_HEADS,
    asked_plan,
    error_in_words,
    errors_if_public,
    plan_document,
    plan_rows,
    plan_shape,
)
from tetraodon.releases.least_epsilon import error_bound, plan_for_error
from tetraodon.releases.proposals import Limit, choose, fill, offered

# -- plan -------------------------------------------------------------------------------------------
# Plans keep their budget, choose by expected error, and never see data.


def with_changes(**changes: Any) -> td.Policy:
    return td.load_policy({**POLICY, **changes})


def line(size: int, theta: int | None, query: dict[str, Any], **more: Any) -> td.Policy:
    secrets = {"secrets": {"x": {"within": theta}}} if theta else {}
    return td.load_policy(
        public_policy(dataset="line", attributes={"x": {"integer": [1, size]}}, release=[{"name": "q", **query}])
        | secrets
        | more
    )


def test_the_whole_release_costs_the_budget_exactly(policy: td.Policy) -> None:
    plan = td.plan(policy)
    assert plan.certificate.epsilon == policy.epsilon
    assert plan.certificate.exact
    assert plan.epsilon <= sum(item.epsilon for item in plan)


def test_typed_numbers_are_exact() -> None:
    policy = with_changes(budget={"epsilon": 0.1})
    assert td.plan(policy).certificate.epsilon == Fraction(1, 10)


def test_a_histogram_of_blocks_is_exact(policy: td.Policy) -> None:
    item = td.plan(policy)["blocks"]
    assert item.mechanism == "exact"
    assert item.epsilon == 0
    assert item.expected_error == 0
    assert item.baseline_error > 0


def test_nothing_is_exact_when_somebody_may_be_absent() -> None:
    plan = td.plan(with_changes(presence="secret"))
    assert all(item.mechanism != "exact" for item in plan)


def test_theta_one_gives_the_ordered_mechanism() -> None:
    """[HMD14] section 7.1: sensitivity 1, and the error of a running count does not depend on the domain."""
    for size in (10, 1000, 100_000):
        item = td.plan(line(size, 1, {"cdf": "x"}))["q"]
        assert item.mechanism == "ordered"
        assert item.scale == 1
        assert item.expected_error < 2**0.5


def test_the_complete_graph_prefers_weighted_sums_for_running_counts() -> None:
    """Smoothed counts have an error of 17.1, which is told of plain differential privacy elsewhere."""
    item = td.plan(line(1000, None, {"cdf": "x"}))["q"]
    assert item.mechanism == "weighted"
    assert item.expected_error == item.baseline_error < 16


def test_a_range_drawn_at_random_costs_at_most_four_over_epsilon_squared() -> None:
    """[HMD14] Thm 7.1."""
    item = td.plan(line(4357, 1, {"ranges": "x"}))["q"]
    assert item.expected_error**2 <= 4


def test_presence_costs_and_a_person_with_more_rows_costs_more() -> None:
    known = td.plan(line(10, None, {"histogram": ["x"]}))["q"]
    secret = td.plan(line(10, None, {"histogram": ["x"]}, presence="secret"))["q"]
    keyed = td.plan(line(10, None, {"histogram": ["x"]}, individuals={"key": "id", "at most": 3}))["q"]
    assert known.scale == secret.scale == 2
    assert keyed.scale == 6
    assert known.expected_error < secret.expected_error  # the known total helps


def test_items_on_different_attributes_do_not_compete() -> None:
    """One attribute at a time: no step moves both tables, so each may use the whole budget."""
    release = [{"name": "a", "histogram": ["age"]}, {"name": "i", "histogram": ["income"]}]
    apart = td.plan(with_changes(release=release))
    assert [item.epsilon for item in apart] == [1, 1]
    assert apart.certificate.epsilon == 1
    together = td.plan(with_changes(release=release, together="all at once"))
    assert [item.epsilon for item in together] == [Fraction(1, 2), Fraction(1, 2)]


def test_shares_decide_between_items_that_compete() -> None:
    release = [{"name": "a", "histogram": ["age"], "share": 3}, {"name": "b", "cdf": "age"}]
    first, second = td.plan(with_changes(release=release))
    assert first.epsilon == Fraction(3, 4)
    assert second.epsilon == Fraction(1, 4)


def test_solving_for_the_error() -> None:
    policy = line(10, None, {"histogram": ["x"]})
    plan = plan_for_error(policy, 50, confidence=95)
    assert error_bound(plan["q"], plan.policy, Fraction(95, 100)) <= 50
    slightly_less = td.plan(policy, epsilon=plan.epsilon * Fraction(99, 100))
    assert error_bound(slightly_less["q"], policy, Fraction(95, 100)) > 50


@pytest.mark.parametrize(("error", "confidence"), [(0, 95), (-1, 95), (5, 0), (5, 100), ("x", 95), (float("nan"), 95)])
def test_impossible_errors_are_refused(error: Any, confidence: Any) -> None:
    with pytest.raises(td.errors.PolicyError, match="Fix:"):
        plan_for_error(line(10, None, {"histogram": ["x"]}), error, confidence=confidence)


def test_an_answer_too_long_to_write_is_refused_before_anything_is_made() -> None:
    with pytest.raises(td.errors.Refused, match="numbers"):
        td.plan(line(10**12, 5, {"histogram": ["x"]}))


def test_a_sum_over_a_huge_range_costs_nothing_to_plan() -> None:
    item = td.plan(line(10**12, 5, {"total": "x"}))["q"]
    assert item.scale == 5


def test_nothing_to_release() -> None:
    with pytest.raises(td.errors.PolicyError, match="nothing to release"):
        td.plan(with_changes(release=[]))


def test_items_by_name(policy: td.Policy) -> None:
    plan = td.plan(policy)
    assert len(plan) == len(POLICY["release"])
    with pytest.raises(td.errors.QueryError, match="no item"):
        plan["nobody"]


# -- plan shape -------------------------------------------------------------------------------------
# A plan as JSON, and the plan of items under a policy that governs.

AGES = {"dataset": "d", "attributes": {"age": {"integer": [0, 9], "unit": "years"}}, "budget": {"epsilon": 1}}
ITEMS = [{"name": "ages", "histogram": "age"}]


def test_the_plan_of_items_is_that_of_the_policy_with_them() -> None:
    document = td.load_policy(AGES).document
    assert asked_plan(document, {"items": ITEMS, "epsilon": "0.5"}) == td.plan(AGES | {"release": ITEMS}, epsilon=0.5)
    within = td.plan_for_error(AGES | {"release": ITEMS}, 20, confidence=90)
    assert asked_plan(document, {"items": ITEMS, "error": 20, "confidence": 90}) == within


def test_errors_if_presence_were_public_are_smaller() -> None:
    plan = td.plan(AGES | {"release": ITEMS})
    public = errors_if_public(plan)
    assert public is not None
    shape = json.loads(json.dumps(plan_shape(plan, public)))
    [query] = shape["queries"]
    assert query["expected_error_if_presence_public"] == public["ages"]
    assert (shape["dataset"], shape["budget"], query["unit"]) == ("d", 1, "records")
    assert errors_if_public(td.plan(AGES | {"release": ITEMS, "presence": "public"})) is None


# -- plan table -------------------------------------------------------------------------------------
# A plan as a table of texts.


def test_every_item_has_a_row_with_its_own_figures() -> None:
    plan = td.plan(POLICY)
    rows = {row[0]: dict(zip(PLAN_HEADS, row, strict=False)) for row in plan_rows(plan)}
    assert list(rows) == [item.name for item in plan]
    assert rows["blocks"]["expected error"] == "none"
    assert rows["blocks"]["ratio"] == "∞"
    assert rows["pay"]["what is asked"] == "sum of income by sex"
    assert rows["pay"]["expected error"] == error_in_words(plan["pay"].expected_error, "kEUR")


def test_errors() -> None:
    assert [error_in_words(e, "USD") for e in (0, 0.012345, 12.5, 12345.6)] == [
        "none",
        "±0.0123 USD",
        "±12.5 USD",
        "±12,346 USD",
    ]


def test_what_items_make_of_each_other_is_a_column_where_there_is_such() -> None:
    items = [{"name": "ages", "cdf": "age"}, {"name": "both", "histogram": ["age", "sex"]}]
    plan, alone = (td.plan({**POLICY, "release": listed}) for listed in (items, items[:1]))
    told = td.joint_errors(plan)
    assert [row[PLAN_HEADS.index("together")] for row in plan_rows(plan)] == [
        error_in_words(told[item.name], "") for item in plan
    ]
    assert [len(row) for row in plan_rows(alone)] == [len(PLAN_HEADS) - 1]


# -- budget -----------------------------------------------------------------------------------------
# Budgets are filled: nothing is left over that any item could still use.


def lost(policy: Policy, chosen: Sequence[tuple[Strategy, Fraction]], scales: Sequence[Fraction]) -> Any:
    """What all items lose together at given scales."""
    measured = [m for (strategy, _), scale in zip(chosen, scales, strict=True) for m in strategy.measurements(scale)]
    return certify_measurements(policy.graph, measured, rows_per_person=policy.rows_per_person).epsilon


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_no_item_could_have_less_noise(data: st.DataObject) -> None:
    graph = data.draw(graphs(2))
    usable = queries(graph.domain).filter(lambda q: not isinstance(q.contribution, AllRanges))
    policy = Policy("tiny", graph.domain, graph, data.draw(positive), (Item("q", count()),))
    chosen = []
    for query in data.draw(st.lists(usable, min_size=1, max_size=3)):
        strategy = Strategy(DIRECT, (query,))
        loss = certify_measurements(graph, strategy.measurements(Fraction(1))).epsilon
        if loss:
            chosen.append((strategy, Fraction(loss) / data.draw(positive)))
    if not chosen:
        return
    scales = fill(policy, chosen)
    assert lost(policy, chosen, scales) == policy.epsilon
    for number in range(len(scales)):
        less = [scale * Fraction(99, 100) if i == number else scale for i, scale in enumerate(scales)]
        assert lost(policy, chosen, less) > policy.epsilon


@pytest.mark.parametrize("at_most", [1, 2, 3])
def test_items_that_are_alike_stop_together(monkeypatch: pytest.MonkeyPatch, at_most: int) -> None:
    """Scales are what they are if items stop step by step, after fewer certificates."""
    names = "abcdefgh"
    policy = td.load_policy(
        public_policy(
            dataset="wide",
            attributes={name: {"integer": [0, 1 + (name > "f")]} for name in names},
            together={"at most": at_most},
            release=[{"name": name, "histogram": name, "share": 1 + (name in "be")} for name in names],
        )
    )
    asked = [Strategy(DIRECT, (item.linear(policy.domain),)) for item in policy.items]
    chosen = [(strategy, Fraction(9) / item.share) for strategy, item in zip(asked, policy.items, strict=True)]
    chosen.append((Strategy(DIRECT, (td.queries.histogram("a", "b").linear(policy.domain),)), Fraction(9)))
    times = []

    def counted(*args: Any, **more: Any) -> Any:
        times.append(len(args[1]))
        return certify_measurements(*args, **more)

    monkeypatch.setattr(budget, "certify_measurements", counted)
    together, of_all = fill(policy, chosen), sum(times)
    monkeypatch.setattr(budget._Filling, "_lone", lambda *_: set())
    times.clear()
    assert together == fill(policy, chosen)
    assert of_all < sum(times)


def test_exact_items_take_nothing() -> None:
    from tests.worlds import Domain

    from tetraodon.domain import Attribute, Integers
    from tetraodon.policy.attribute_graph import Everything
    from tetraodon.policy.secret_graph import Factor, SecretGraph
    from tetraodon.query.contribution import One
    from tetraodon.query.linear import LinearQuery, splits

    domain = Domain((Attribute("x", Integers(0, 3)),))
    graph = SecretGraph(domain, (Factor(("x",), Everything(4)),), 1)
    policy = Policy("tiny", domain, graph, Fraction(1), (Item("q", count()),), "public")
    total = Strategy(EXACT, (), (LinearQuery(One()),))
    table = Strategy(IDENTITY, (LinearQuery(One(), splits(["x"])),), table=splits(["x"]))
    assert fill(policy, [(total, Fraction(0)), (table, Fraction(5))]) == [0, 2]


@pytest.mark.parametrize(("together", "times"), [("all at once", 2), ("one attribute at a time", 60)])
def test_a_budget_is_filled_with_few_certificates(monkeypatch: pytest.MonkeyPatch, together: str, times: int) -> None:
    """Two for each step that the budget stops at, not one for each item each time: planning grew cubically."""
    names = [f"a{number}" for number in range(30)]
    policy = td.load_policy(
        policy_document(
            dataset="wide",
            together=together,
            attributes={name: ["x", "y", "z"] for name in names},
            release=[{"name": name, "histogram": [name]} for name in names],
        )
    )
    chosen = [(item.strategy, Fraction(number + 1)) for number, item in enumerate(td.plan(policy))]
    asked = []
    certified = budget.certify_measurements
    monkeypatch.setattr(budget, "certify_measurements", lambda *a, **more: asked.append(1) or certified(*a, **more))
    scales = budget.fill(policy, chosen)
    assert len(asked) <= times
    assert lost(policy, chosen, scales) == 1


# -- best proposal ----------------------------------------------------------------------------------
# Of what mechanisms propose, the proposal with the least error at its price is taken.

LIMIT = Limit(LAPLACE, Fraction(1, 2))


def policy(asked: dict[str, Any]) -> td.Policy:
    return td.load_policy(
        public_policy(
            attributes={"x": {"integer": [0, 40]}, "y": {"integer": [0, 9]}},
            secrets={"x": {"within": 3}},
            release=[{"name": "i", **asked}],
        )
    )


@pytest.mark.parametrize("asked", [{"cdf": "x"}, {"cdf": "x", "where": "y > 3"}, {"histogram": ["x", "y"]}])
def test_the_least_error_is_taken(asked: dict[str, Any]) -> None:
    made = policy(asked)
    [item] = made.items
    found, too_long = offered(item, made, LIMIT)
    assert not too_long
    strategy, scale = choose(item, made, LIMIT)
    errors = [one.at(loss / LIMIT.amount, made.domain).expected_error(item.query) for one, loss in found]
    assert len(errors) > 1
    assert strategy.at(scale, made.domain).expected_error(item.query) == min(errors)


def test_what_cannot_be_certified_for_a_part_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    made = policy({"cdf": "x", "where": "y > 3"})
    [item] = made.items
    whole = best_proposal.certify_measurements

    def only_one(*args: Any, **more: Any) -> Any:
        if len(args[1]) > 1:
            raise Refused("too many", fix="fewer")
        return whole(*args, **more)

    monkeypatch.setattr(best_proposal, "certify_measurements", only_one)
    assert {one.mechanism.name for one, _ in offered(item, made, LIMIT)[0]} == {"identity", "weighted"}
    monkeypatch.setattr(best_proposal, "certify_measurements", lambda *_, **__: only_one(None, [1, 2]))
    with pytest.raises(Refused, match="too many"):
        offered(item, made, LIMIT)


SECRETS: list[Any] = ["public", "everything", {"within": 1}, {"within": 5}, {"blocks": [[0, 6], [7, 19]]}]
ASKED = [{"cdf": "x"}, {"ranges": "x"}, {"ranges": {"x": [[0, 3], [2, 15]]}}, {"histogram": "x"}]


@settings(max_examples=12, deadline=None)
@given(st.sampled_from(SECRETS), st.sampled_from(ASKED), st.sampled_from(["public", "secret"]), st.booleans())
def test_who_promises_less_never_errs_more(secret: Any, asked: dict[str, Any], presence: str, where: bool) -> None:
    """Certified errors, beside those of plain differential privacy with the same presence."""
    some = {"where": "y > 3"} if where else {}
    document = policy({**asked, **some}).document | {
        "presence": presence,
        "attributes": {"x": {"integer": [0, 19]}, "y": {"integer": [0, 9]}},
    }
    less, more = (td.load_policy(document | {"secrets": secrets}) for secrets in ({"x": secret, "y": "public"}, {}))
    errors = [td.plan(one)["i"].expected_error for one in (less, more)]
    assert errors[0] <= errors[1] * (1 + 1e-9)
    if presence == "secret":
        alone = td.load_policy(document | {"secrets": {"x": "public", "y": "public"}})
        assert td.plan(alone)["i"].expected_error <= errors[0] * (1 + 1e-9)


def planned(asked: dict[str, Any], attributes: dict[str, Any], **changes: Any) -> float:
    document = {"dataset": "d", "presence": "public", "attributes": attributes, "budget": {"epsilon": 1}, **changes}
    return td.plan(document | {"release": [{"name": "i", **asked}]})["i"].expected_error


@settings(max_examples=8, deadline=None)
@given(st.integers(1, 4), st.integers(5, 12), st.sampled_from(["l1", "linf"]))
def test_near_cells_of_a_map_never_cost_more_than_all(theta: int, side: int, metric: str) -> None:
    sides = {"x": {"integer": [0, side - 1]}, "y": {"integer": [0, 7]}}
    near = {"metric": metric, "over": ["x", "y"], "within": theta}
    less, more = (planned({"rectangles": ["x", "y"]}, sides, together=one) for one in (near, "all at once"))
    assert less <= more * (1 + 1e-9)


@settings(max_examples=8, deadline=None)
@given(st.lists(st.integers(0, 100), min_size=3, max_size=12), st.sampled_from(["histogram", "cdf"]))
def test_a_tree_of_secrets_never_costs_more_than_all(above: list[int], asked: str) -> None:
    """Value n + 1 hangs on one of the values up to n."""
    values = {"x": {"integer": [0, len(above)]}}
    pairs = [[parent % (child + 1), child + 1] for child, parent in enumerate(above)]
    less, more = (planned({asked: "x"}, values, secrets={"x": one}) for one in ({"pairs": pairs}, "everything"))
    assert less <= more * (1 + 1e-9)


@settings(max_examples=6, deadline=None)
@given(st.integers(1, 4), st.integers(20, 90), st.sampled_from(["cdf", "ranges"]))
def test_near_values_of_a_line_never_cost_more_than_all(theta: int, size: int, asked: str) -> None:
    values = {"x": {"integer": [0, size - 1]}}
    less, more = (planned({asked: "x"}, values, secrets={"x": one}) for one in ({"within": theta}, "everything"))
    assert less <= more * (1 + 1e-9)


# -- preview ----------------------------------------------------------------------------------------
# A preview is the plan, whatever changed before it and whatever was remembered.


def figures(plan: td.Plan) -> object:
    """All that a plan says: what is measured and with which noise, every error and every certificate."""
    told = [(i.item, i.scale, i.certificate, i.expected_error, i.baseline_error, i.baseline.name) for i in plan]
    return plan_document(plan), plan.certificate, plan.policy, told


@pytest.mark.parametrize("base", [demo(), ten_attributes()], ids=["demo", "ten"])
def test_a_preview_is_the_plan_after_any_change(base: dict[str, Any]) -> None:
    last, seen = td.plan(base), set()
    for kind, changed in edits(base, 20, seed=11):
        last = td.editor.preview(changed, previous=last)
        assert figures(last) == figures(td.plan(changed))
        seen.add(kind)
    assert seen == {*KINDS}


SMALL = public_policy(
    attributes={"x": {"integer": [0, 11]}, "y": {"integer": [0, 4]}, "g": ["a", "b", "c"]},
    secrets={"x": {"within": 2}, "g": "public"},
    release=[
        {"name": "xs", "ranges": "x"},
        {"name": "both", "histogram": ["x", "y"]},
        {"name": "some", "cdf": "x", "where": "y > 1"},
        {"name": "few", "count": "x < 3 and g = 'a'"},
    ],
)
UNLIKE: dict[str, dict[str, Any]] = {
    "presence": {"presence": "secret"},
    "delta": {"budget": {"epsilon": 1, "delta": 1e-6}},
    "rho": {"budget": {"rho": 0.5}},
    "rows": {"individuals": {"key": "id", "at most": 2}},
    "together": {"together": {"at most": 2}},
    "secrets elsewhere": {"secrets": {"x": {"within": 2}, "y": {"within": 1}, "g": "public"}},
    "domain": {"attributes": {"x": {"integer": [1, 12]}, "y": {"integer": [0, 4]}, "g": ["a", "b", "c"]}},
    "groups": {"groups": {"by": "g", "rules": {"a": {"secrets": {"x": "everything"}}, "b": "none"}}},
    "error": {"release": [{**SMALL["release"][0], "error": {"within": 1000}}]},  # type: ignore[dict-item]
    "known": {"known": [{"marginal": ["g"]}], "release": SMALL["release"][:1]},  # type: ignore[index]
    "attackers": {"attackers": [{"groups": "family", "at most": 2}]},
}


@pytest.mark.parametrize("change", UNLIKE, ids=list(UNLIKE))
def test_nothing_is_taken_from_a_plan_with_another_promise(change: str) -> None:
    """There and back again, so that both sides are remembered when the other is looked for."""
    base, last = dict(SMALL), td.plan(SMALL)
    changed = base | UNLIKE[change]
    for now in (changed, base, changed):
        last = td.editor.preview(now, previous=last)
        assert figures(last) == figures(td.plan(now))


def test_what_did_not_change_is_not_looked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    first = td.plan(SMALL)
    looked: list[str] = []
    whole = best_proposal.offered
    monkeypatch.setattr(
        best_proposal, "offered", lambda item, *a, **k: looked.append(item.name) or whole(item, *a, **k)
    )
    second = td.editor.preview({**SMALL, "budget": {"epsilon": 2}}, previous=first)
    assert looked == []
    td.editor.preview({**SMALL, "secrets": {"x": {"within": 2}, "y": {"within": 1}, "g": "public"}}, previous=second)
    assert {*looked} == {"both", "some"}  # who looks at y
    looked.clear()
    td.editor.preview(SMALL)
    assert {*looked} == {"xs", "both", "some", "few"}


def test_no_more_is_remembered_than_of_the_plan_before() -> None:
    base, last = dict(SMALL), td.plan(SMALL)
    for theta in (3, 4, 5):
        now = base | {"secrets": {"x": {"within": theta}, "g": "public"}}
        last = td.editor.preview(now, previous=last)
        alone = td.plan(now)._offers
        assert last._offers.found.keys() == alone.found.keys()
        assert last._offers.names.keys() == alone.names.keys()
        assert last._offers.before is not None
        assert last._offers.before.before is None


def test_changes_are_one_of_each_kind_and_leave_the_policy_as_it_was() -> None:
    base = ten_attributes()
    changed = {edit(base, Random(seed))[0] for seed in range(60)}
    assert changed == {*KINDS}
    assert base == ten_attributes()


def test_a_histogram_of_a_hundred_million_cells_is_planned_and_not_released(tmp_path: Path) -> None:
    """Nothing lists its cells; a release is refused before anything is spent."""
    document = public_policy(
        attributes={name: {"integer": [0, size - 1]} for name, size in (("a", 1000), ("b", 1000), ("c", 100))},
        release=[{"name": "q", "histogram": ["a", "b", "c"]}],
    )
    plan = td.plan(document)
    assert plan["q"].too_long
    assert plan["q"].mechanism == "identity"
    assert any("more numbers than the 20,000,000" in one for one in notes(plan, None))
    book = td.Ledger(tmp_path / "ledger.db")
    book.open(plan.policy.dataset, 1, plan.policy.document)
    with pytest.raises(Refused, match="more than 20,000,000 numbers"):
        td.release(plan, pl.DataFrame({"a": [1], "b": [2], "c": [3]}), ledger=book)
    book.allot(plan.policy.dataset, "ann", 1)
    with pytest.raises(Refused, match="more than 20,000,000 numbers"):  # owners are charged before anything is counted
        td.release(plan, pl.DataFrame({"a": [1], "b": [2], "c": [3]}), ledger=book, owner="ann")
    assert book.left(plan.policy.dataset) == 1
    wider = {**document, "attributes": {**document["attributes"], "d": {"integer": [0, 99]}}}
    with pytest.raises(Refused, match="more than 20,000,000 numbers"):
        td.plan({**wider, "release": [{"name": "q", "histogram": ["a", "b", "c", "d"]}]})


def test_what_is_exact_for_its_attributes_is_exact_for_the_policy() -> None:
    """Or it has noise, where the kernel has a bound alone for the whole policy."""
    document = policy_document(
        attributes={
            "pay": {"integer": [-5, 100_001]},
            "grade": {"ordered": ["low", "middle", "high"]},
            "sex": ["f", "m"],
            "ill": {"boolean": True},
        },
        secrets={"pay": "public", "grade": "public", "ill": "public", "sex": "everything"},
        presence="public",
        release=[{"name": "q", "proportion": "grade <> 'low' or not pay >= 1", "by": ["ill"]}],
    )
    assert td.plan(document).certificate.finite

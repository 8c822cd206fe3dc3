"""Running a plan."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.policies import policy_document
from tests.releases.conftest import POLICY

import tetraodon as td
from tetraodon.engine import DataRefusal
from tetraodon.engine.counting import Counts, require_sound
from tetraodon.errors import NoiseError
from tetraodon.exact.arrays import LARGEST, MOST_ROWS
from tetraodon.ledger.database import Database
from tetraodon.noise.laws import LaplaceNoise
from tetraodon.policy.source import dump_policy
from tetraodon.releases.codec import plan_document
from tetraodon.releases.run import DRAWN, read_measured, write_measured

# -- run --------------------------------------------------------------------------------------------
# Running a plan: what is charged, when, and what happens when something breaks.


def test_a_release_is_charged_its_certificate_and_settled(
    policy: td.Policy, table: pl.DataFrame, ledger: td.Ledger
) -> None:
    release = td.release(td.plan(policy), table, ledger=ledger)
    (entry,) = ledger.entries(policy.dataset)
    assert entry.charged == release.plan.certificate.epsilon == policy.epsilon
    assert entry.state == "settled"
    assert set(entry.document) >= {"policy", "plan", "certificate"}


def test_exact_answers_are_exact_and_noisy_ones_are_near(
    policy: td.Policy, table: pl.DataFrame, ledger: td.Ledger
) -> None:
    release = td.release(td.plan(policy, epsilon=2), table, ledger=ledger)
    blocks = release["blocks"].to_polars()
    east = table.filter(pl.col("region") == "east").height
    assert blocks["count"].to_list() == [table.height - east, east]
    assert blocks["lower"].to_list() == blocks["upper"].to_list() == blocks["count"].to_list()
    ages = release["ages"].to_polars()
    assert ages["count"].sum() == pytest.approx(table.height)  # the number of records is known


def test_the_charge_stands_when_a_crash_follows_it(
    policy: td.Policy, table: pl.DataFrame, ledger: td.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(LaplaceNoise, "draw", crash)
    with pytest.raises(KeyboardInterrupt):
        td.release(td.plan(policy), table, ledger=ledger)
    (entry,) = ledger.entries(policy.dataset)
    assert entry.state == "reserved"
    assert ledger.account(policy.dataset).charged == 1


def test_no_noise_is_drawn_before_the_charge_is_committed(
    policy: td.Policy, table: pl.DataFrame, ledger: td.Ledger, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen = []
    draw = LaplaceNoise.draw

    def watched(*arguments: Any) -> Any:
        with td.Ledger(tmp_path / "ledger.db") as other:  # what another process would see
            seen.append(other.account(policy.dataset).charged)
        return draw(*arguments)

    monkeypatch.setattr(LaplaceNoise, "draw", watched)
    td.release(td.plan(policy), table, ledger=ledger)
    assert set(seen) == {Fraction(1)}


def test_a_release_asks_the_ledger_four_times(
    policy: td.Policy, table: pl.DataFrame, ledger: td.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How the account stands, what was released before, to be charged, and to be settled: each is a transaction."""
    plan = td.plan(policy, epsilon="0.1")
    td.release(plan, table, ledger=ledger)
    asked: list[str] = []
    for name in ("reading", "writing"):
        real = getattr(Database, name)

        def watched(self: Database, *args: Any, real: Any = real, name: str = name, **more: Any) -> Any:
            asked.append(name)
            return real(self, *args, **more)

        monkeypatch.setattr(Database, name, watched)
    td.release(plan, table, ledger=ledger)
    assert asked == ["reading", "reading", "writing", "writing"]


def test_the_budget_runs_out(policy: td.Policy, table: pl.DataFrame, ledger: td.Ledger) -> None:
    plan = td.plan(policy)
    for _ in range(2):
        td.release(plan, table, ledger=ledger)
    with pytest.raises(td.errors.BudgetExhausted, match="Fix:"):
        td.release(plan, table, ledger=ledger)
    assert ledger.account(policy.dataset).left == 0


def test_an_empty_table_is_refused_without_detail_recorded_and_free(
    policy: td.Policy, table: pl.DataFrame, ledger: td.Ledger
) -> None:
    with pytest.raises(DataRefusal):
        td.release(td.plan(policy), table.head(0), ledger=ledger)
    assert len(ledger.refusals(policy.dataset)) == 1
    assert ledger.entries(policy.dataset) == ()


def test_a_missing_column_costs_nothing(policy: td.Policy, table: pl.DataFrame, ledger: td.Ledger) -> None:
    with pytest.raises(td.errors.TableError, match="age"):
        td.release(td.plan(policy), table.drop("age"), ledger=ledger)
    assert ledger.entries(policy.dataset) == ()


def test_a_data_set_that_was_never_opened(policy: td.Policy, table: pl.DataFrame, tmp_path: Path) -> None:
    with pytest.raises(td.errors.LedgerError, match="ledger open"):
        td.release(td.plan(policy), table, ledger=tmp_path / "none.db")


def governed(change: dict[str, Any], asked: dict[str, Any], table: pl.DataFrame, tmp_path: Path) -> td.Ledger:
    """Open the ledger under one policy and release under another."""
    governing = td.load_policy({**POLICY, "release": [], **change})
    book = td.Ledger(tmp_path / "governed.db")
    book.open("survey", Fraction(5), governing.document)
    td.release(td.plan(td.load_policy({**POLICY, **asked})), table, ledger=book, allow_dearer=True)
    return book


def test_the_governing_policy_sets_the_price(table: pl.DataFrame, tmp_path: Path) -> None:
    """Noise for {within: 2} protects {within: 8} four times less."""
    wider = {"secrets": {**POLICY["secrets"], "age": {"within": 8}}}
    item = {"release": [{"name": "years", "total": "age"}]}
    book = governed(wider, item, table, tmp_path)
    (entry,) = book.entries("survey")
    assert (entry.asked, entry.charged) == (1, 4)


def test_what_the_governing_policy_protects_for_certain_is_not_told(table: pl.DataFrame, tmp_path: Path) -> None:
    stricter = {"secrets": {**POLICY["secrets"], "region": "everything"}}
    item = {
        "release": [{"name": "blocks", "histogram": ["region"], "bins": {"region": [["north", "south"], ["east"]]}}]
    }
    with pytest.raises(td.errors.Refused, match="governs"):
        governed(stricter, item, table, tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"attributes": {**POLICY["attributes"], "age": {"integer": [20, 30]}}},
        {"attributes": {name: kind for name, kind in POLICY["attributes"].items() if name != "region"}, "secrets": {}},
        {"individuals": {"key": "id", "at most": 2}},
    ],
    ids=["values", "attributes", "individuals"],
)
def test_policies_that_describe_other_data_are_refused(
    change: dict[str, Any], table: pl.DataFrame, tmp_path: Path
) -> None:
    with pytest.raises(td.errors.Refused, match="Fix:"):
        governed(change, {"release": POLICY["release"][:1]}, table, tmp_path)


def test_at_most_k_rows_of_each_person_count(tmp_path: Path) -> None:
    keyed = policy_document(
        dataset="visits",
        individuals={"key": "who", "at most": "2 rows"},
        attributes={"ward": ["a", "b"]},
        budget={"epsilon": 1000},
        release=[{"name": "wards", "histogram": ["ward"]}],
    )
    policy = td.load_policy(keyed)
    book = td.Ledger(tmp_path / "visits.db")
    book.open("visits", policy.epsilon, policy.document)
    visits = pl.DataFrame({"who": [1] * 50 + [2], "ward": ["a"] * 50 + ["b"]})
    answer = td.release(td.plan(policy), visits, ledger=book)["wards"].to_polars()
    assert answer["count"].round().to_list() == [2, 1]


def test_facts_that_only_the_asked_policy_knows_are_refused(table: pl.DataFrame, tmp_path: Path) -> None:
    with pytest.raises(td.errors.Refused, match="known"):
        governed({}, {"known": [{"count": "sex = 'Male'"}], "release": POLICY["release"][:1]}, table, tmp_path)


@pytest.mark.parametrize("kind", ["a policy", "a document", "a path", "a plan"])
def test_a_policy_or_its_file_is_planned(
    kind: str, policy: td.Policy, table: pl.DataFrame, ledger: td.Ledger, tmp_path: Path
) -> None:
    (tmp_path / "p.yaml").write_text(dump_policy(policy.document))
    given: Any = {
        "a policy": policy,
        "a document": policy.document,
        "a path": tmp_path / "p.yaml",
        "a plan": td.plan(policy),
    }[kind]
    made = td.release(given, table, ledger=ledger)
    assert plan_document(made.plan) == plan_document(td.plan(policy))
    assert ledger.account(policy.dataset).charged == policy.epsilon


# -- drawn numbers ----------------------------------------------------------------------------------
# Noisy numbers are read back as they were written, and refused if they are not those of the plan.


def test_they_are_read_back(policy: td.Policy, table: pl.DataFrame, ledger: td.Ledger, tmp_path: Path) -> None:
    made = td.release(policy, table, ledger=ledger)
    write_measured(tmp_path, made.measured)
    found = read_measured(tmp_path, made.plan)
    for name, arrays in made.measured.items():
        assert all(np.array_equal(a, b) for a, b in zip(arrays, found[name], strict=True))


@pytest.mark.parametrize("content", [b"", b"broken", None, "other"])
def test_others_are_refused(policy: td.Policy, tmp_path: Path, content: bytes | str | None) -> None:
    if isinstance(content, bytes):
        (tmp_path / DRAWN).write_bytes(content)
    elif content == "other":
        write_measured(tmp_path, {item.name: (np.zeros(1, np.int64),) for item in td.plan(policy)})
    with pytest.raises(td.errors.ReleaseError, match="cannot be read"):
        read_measured(tmp_path, td.plan(policy))


# -- same outcome -----------------------------------------------------------------------------------
# Whether a release is made never depends on a secret: neighbours at the extremes are both released, or both refused.
# What may be refused after the table is opened is listed here by name; all of it is recorded in the ledger.

SOURCE = Path(td.__file__).parent


def document(attributes: Mapping[str, Any], item: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    base = {"dataset": "d", "presence": "public", "budget": {"epsilon": 1}, "attributes": attributes}
    return {**base, "release": [{"name": "q", **item}], **more}


def outcome(policy: Mapping[str, Any], table: pl.DataFrame, folder: Path) -> str:
    """`released`, or the words of the refusal; and what the ledger was charged."""
    address = f"sqlite:///{folder}/{len(list(folder.iterdir()))}.db"
    with td.Ledger(address) as ledger:
        ledger.open("d", 1, policy)
        try:
            td.release(td.plan(policy), table, ledger=ledger)
            told = "released"
        except td.errors.TetraodonError as error:
            told = str(error)
        return f"{told}; left {ledger.account('d').left}"


EXTREMES = [2**25, 2**26, 2**40, 2**55, 5 * 10**17 - 1]


@pytest.mark.parametrize("most", EXTREMES)
@pytest.mark.parametrize("item", [{"total": "x"}, {"mean": "x"}, {"total": "x", "by": "g"}])
def test_neighbours_with_the_longest_sums_are_both_released(most: int, item: Mapping[str, Any], tmp_path: Path) -> None:
    """A sum of 2^62 or more was refused, and its neighbour released, as often as one liked."""
    policy = document(
        {"x": {"integer": [-most, most]}, "g": ["a", "b"]}, item, secrets={"x": {"within": 1000}, "g": "public"}
    )
    told = {
        outcome(policy, pl.DataFrame({"x": [high, *[most] * 99], "g": ["a"] * 100}), tmp_path)
        for high in (most, most - 1, -most, 0)
    }
    assert told == {"released; left 0"}


def test_the_two_neighbours_that_could_be_told_apart_for_free(tmp_path: Path) -> None:
    """At 2^62 units, a hundred records of 46116860184273879 were released and a hundred of one more were refused."""
    policy = document({"x": {"integer": [0, 10**17]}}, {"total": "x"}, secrets={"x": {"within": 100}})
    near = [[46116860184273879] * 100, [46116860184273880] * 100]
    assert {outcome(policy, pl.DataFrame({"x": values}), tmp_path) for values in near} == {"released; left 0"}


def test_weighted_sums_at_the_border_are_released(tmp_path: Path) -> None:
    attributes = {"x": {"integer": [0, 2**40]}, "w": {"integer": [0, 2**19]}}
    secrets = {"x": {"within": 1}, "w": "public"}
    policy = document(attributes, {"total": "x", "weight": "w"}, secrets=secrets)
    told = {
        outcome(policy, pl.DataFrame({"x": [2**40 - step] * 16, "w": [2**19] * 16}), tmp_path) for step in (0, 1, 2**39)
    }
    assert told == {"released; left 0"}


def test_a_sum_beyond_the_largest_is_told_as_the_largest(tmp_path: Path) -> None:
    policy = document({"x": {"integer": [0, 2**59]}}, {"total": "x"}, secrets={"x": {"within": 1}})
    with td.Ledger(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.open("d", 1, policy)
        released = td.release(td.plan(policy), pl.DataFrame({"x": [2**59] * 40}), ledger=ledger)
    assert abs(float(released["q"].columns["total"][0]) - LARGEST) < 2**20


@pytest.mark.parametrize(("most", "epsilon"), [(2**50 + 1, 1), (10**17, 1), (2**30, "1e-9")])
def test_noise_that_cannot_be_drawn_is_refused_when_planning(most: int, epsilon: object) -> None:
    """It was charged first, and failed when it was drawn."""
    policy = document({"x": {"integer": [0, most]}}, {"total": "x"}, budget={"epsilon": epsilon})
    with pytest.raises(NoiseError, match=r"the scale of the noise on q is above 2\*\*50"):
        td.plan(policy)


def test_the_largest_noise_that_is_planned_can_be_drawn(tmp_path: Path) -> None:
    policy = document({"x": {"integer": [0, 2**50]}}, {"total": "x"})
    assert td.plan(policy)["q"].scale == 2**50
    assert outcome(policy, pl.DataFrame({"x": [2**50] * 50}), tmp_path) == "released; left 0"


def test_a_known_count_longer_than_64_bits_is_a_refusal_that_is_recorded(tmp_path: Path) -> None:
    policy = document({"x": {"integer": [0, 9]}}, {"histogram": "x"}, known=[{"count": "x < 3", "is": 10**30}])
    with td.Ledger(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.open("d", 1, policy)
        with pytest.raises(DataRefusal):
            td.release(td.plan(policy), pl.DataFrame({"x": [1, 2, 3]}), ledger=ledger)
        assert ledger.account("d").left == 1
        assert [entry.state for entry in ledger.entries("d")] != ["settled"]


def test_an_endless_table_is_a_refusal_of_the_data() -> None:
    import numpy as np

    domain = td.load_policy(document({"x": {"integer": [0, 9]}}, {"count": "all"})).domain
    endless = Counts(("x",), np.array([[0]]), np.array([MOST_ROWS + 1]))
    with pytest.raises(DataRefusal, match="more rows than can be added up"):
        require_sound(endless, domain)


def test_what_runs_on_exact_counts_raises_nothing_that_depends_on_them() -> None:
    """Between the counts and the charge only `DataRefusal` may depend on the data; these raise on the query alone."""
    allowed = {
        "query/linear.py": {"evaluate", "split_from"},  # more than ANSWER_LIMIT numbers, or too wide; a document
        "query/contribution.py": {  # the query alone: of another kind than is asked for, too wide, or not linear
            *("_refuse", "add_up", "alone", "apart", "columns", "document", "of", "read", "totals", "whole", "writable")
        },
        "inference/least_squares.py": set(),
        "inference/controlled_rounding.py": set(),
        "inference/consistency.py": set(),
        "noise/laws.py": {"chernoff", "exact_variance", "law_from", "law_named"},  # the plan alone
        "releases/estimates.py": set(),
        "releases/counting.py": {"_about", "_check_columns", "whole_table"},  # the policy and the query alone
        "exact/arrays.py": set(),
        "mechanism/strategy.py": {"fit", "reach"},  # a mechanism that leaves no table: the plan alone
        "mechanism/one_scale.py": {"fit", "terms"},
        "mechanism/hierarchical/__init__.py": {"_mean_variance"},  # the question alone
        "mechanism/hierarchical/fit.py": set(),
        "mechanism/grid.py": {"role_of"},  # the strategy alone
    }

    def allows(raised: str) -> bool:
        return "DataRefusal" in raised or raised.startswith("raise self.unknown(")  # what a law does not state

    for path, functions in allowed.items():
        tree = ast.parse((SOURCE / path).read_text(encoding="utf-8"))
        raising = {
            one.name
            for one in ast.walk(tree)
            if isinstance(one, ast.FunctionDef)
            and any(isinstance(part, ast.Raise) and not allows(ast.unparse(part)) for part in ast.walk(one))
        } - {"__post_init__"}
        assert raising == functions, path

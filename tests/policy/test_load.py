"""Policies loaded whole, in part, and written back."""

from __future__ import annotations

import copy
import json
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.policy.mistakes import FILE, WRONG, small
from tests.policy.policies import policies

import tetraodon as td
from tetraodon.errors import PolicyError, Refused
from tetraodon.exact.zcdp import epsilon_at
from tetraodon.policy.draft import Metadata, starter
from tetraodon.policy.load import load_policy, parse_partial
from tetraodon.policy.policy import Item, Policy
from tetraodon.policy.secret_graph import ABSENT
from tetraodon.queries import count
from tetraodon.query.query import plain

# -- load -------------------------------------------------------------------------------------------
# Policy files that say something, and everything that is wrong with those that do not.


def saved(folder: Path, text: str | bytes) -> Path:
    path = folder / "people.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_the_file_of_the_handbook(tmp_path: Path) -> None:
    policy = load_policy(saved(tmp_path, FILE))
    assert policy.dataset == "household-survey-2026"
    assert policy.domain.names == ("age", "sex", "capital_loss")
    assert policy.graph.is_edge((30, "Male", 0), (35, "Male", 0))
    assert not policy.graph.is_edge((30, "Male", 0), (35, "Male", 1))
    assert not policy.graph.is_edge((30, "Male", 0), (30, "Female", 0))
    assert policy.graph.distance((17, "Male", 0), (90, "Male", 4356)) == 15 + 44
    assert [item.share for item in policy.items] == [3, 1]
    assert policy.size_is_public
    assert policy.source == "people.yaml"
    assert policy.document["table"] == {"separator": ";", "decimal": ",", "encoding": "latin-1"}
    assert load_policy(str(tmp_path / "people.yaml")) == policy


def test_what_is_left_out_gets_the_strongest_protection() -> None:
    policy = load_policy({"dataset": "d", "attributes": {"a": [1, 2], "b": [1, 2]}, "budget": {"epsilon": 0.1}})
    assert policy.presence == "secret"
    assert policy.graph.is_edge(("1", "1"), ("2", "2"))
    assert policy.graph.is_edge(("1", "1"), ABSENT)
    assert policy.epsilon == Fraction(1, 10)
    assert policy.items == ()


def test_words_of_a_file_stay_as_they_were_typed(tmp_path: Path) -> None:
    values = "[Yes, No, on, off, null, 1.0, 1_0, 0x1F, 2020-01-01, true, '']"
    text = f"dataset: d\nattributes:\n  a: {values}\nbudget: {{epsilon: 1}}\n"
    domain = load_policy(saved(tmp_path, text)).domain
    expected = ("Yes", "No", "on", "off", "null", "1.0", "1_0", "0x1F", "2020-01-01", "true", "")
    assert domain["a"].labels == expected


@pytest.mark.parametrize("rows", ["3 rows", "3", 3, "3  rows"])
def test_individuals_with_a_key(rows: object) -> None:
    policy = load_policy(small(individuals={"key": "person", "at most": rows}))
    assert (policy.key, policy.rows_per_person) == ("person", 3)
    assert policy.graph.absent
    assert not policy.size_is_public


def test_presence() -> None:
    assert not load_policy(small()).graph.absent
    assert load_policy(small(presence="secret")).graph.absent


def test_whole_and_share() -> None:
    [item] = load_policy(small(release=[{"name": "n", "count": "all", "share": 0.5, "whole": True}])).items
    assert (item.share, item.whole) == (Fraction(1, 2), True)


def test_a_huge_attribute_loads_at_once() -> None:
    policy = load_policy(
        small(
            attributes={"id": {"integer": [1, 10**12]}},
            secrets={"id": {"within": 10**6}},
            release=[{"name": "n", "cdf": "id"}, {"name": "s", "total": "id"}],
        )
    )
    assert policy.graph.distance(1, 10**12) == 10**6


# -- what is wrong -----------------------------------------------------------------------------


@pytest.mark.parametrize(("old", "new", "line", "words"), WRONG, ids=[f"{n}: {w[1]}" for n, w in enumerate(WRONG)])
def test_every_mistake_is_told_with_its_line(tmp_path: Path, old: str, new: str, line: int, words: str) -> None:
    text = FILE.replace(old, new, 1)
    assert text != FILE
    with pytest.raises(PolicyError) as caught:
        load_policy(saved(tmp_path, text))
    first = str(caught.value).splitlines()[0]
    assert first.startswith(f"people.yaml line {line}: ")
    assert words in first
    assert ". Fix: " in first


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("known: []", "known: [{count: age > 3, at most: 5}, {count: age > 4}]", "count some of them twice"),
        ("[independent]", "[{groups: a, at most: 2}, {groups: b, at most: 3}]", "two kinds of dependence"),
    ],
)
def test_what_cannot_be_kept_is_refused(tmp_path: Path, old: str, new: str, words: str) -> None:
    with pytest.raises(Refused, match=words):
        load_policy(saved(tmp_path, FILE.replace(old, new, 1)))


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("{epsilon: 1, delta: 1e-6}", {"epsilon": 1, "delta": "0.000001"}),
        ("{rho: 0.5}", {"rho": "0.5", "delta": "0.000001"}),
        ("{rho: 0.5, delta: 1e-9}", {"rho": "0.5", "delta": "0.000000001"}),
        ("{epsilon: 1, delta: 0}", {"epsilon": 1}),
        ("{epsilon: 1, delta: 1e-6, once: true}", {"epsilon": 1, "delta": "0.000001", "once": True}),
    ],
)
def test_a_budget_may_have_a_delta_or_be_a_rho(tmp_path: Path, written: str, kept: dict[str, object]) -> None:
    policy = load_policy(saved(tmp_path, FILE.replace("{epsilon: 1}", written, 1)))
    assert policy.document["budget"] == kept == policy.budget
    assert load_policy(policy.document) == policy
    if policy.rho is not None:
        assert policy.epsilon == epsilon_at(policy.rho, policy.delta)
        assert policy.with_epsilon(Fraction(2)).budget == {"epsilon": 2, "delta": kept["delta"]}
        assert policy.with_budget(delta=Fraction(1, 1000)).budget == {"rho": kept["rho"], "delta": "0.001"}


@pytest.mark.parametrize("written", ["{epsilon: 1, once: true}", "{rho: 0.5, once: true}"])
def test_once_is_about_an_epsilon_with_a_delta(tmp_path: Path, written: str) -> None:
    with pytest.raises(PolicyError, match="`once` is about one release with an epsilon and a delta"):
        load_policy(saved(tmp_path, FILE.replace("{epsilon: 1}", written, 1)))


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    text = FILE.replace("within: 5", "within: -1").replace("within: 100", "within: nothing")
    with pytest.raises(PolicyError) as caught:
        load_policy(saved(tmp_path, text.replace("presence", "presense")))
    lines = str(caught.value).splitlines()
    assert [line.split(":")[0] for line in lines] == ["people.yaml line 5", "people.yaml line 11"]
    assert caught.value.what == "the key 'presense' is not known here"


@pytest.mark.parametrize("secret", [{"blocks": [[0, 9_999_999]]}, None])
def test_listing_the_values_of_a_huge_attribute_is_refused(secret: object) -> None:
    changes: dict[str, object] = {"attributes": {"id": {"integer": [0, 9_999_999]}}}
    if secret:
        changes["secrets"] = {"id": secret}
    else:
        changes["release"] = [{"name": "h", "histogram": "id", "bins": {"id": 10}}]
    with pytest.raises(PolicyError, match="more than 5,000,000 values"):
        load_policy(small(**changes))
    with pytest.raises(PolicyError, match="10,000,000 values, too many for 1 listed ranges"):
        load_policy(small(attributes=changes["attributes"], release=[{"name": "r", "ranges": {"id": [[0, 1]]}}]))


LARGE = {"id": {"integer": [0, 4_000_000]}, "sex": ["f", "m"]}
HUGE = {"id": {"integer": [0, 10**12]}, "sex": ["f", "m"]}


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        (
            {"attributes": HUGE, "known": [{"rectangle": {"id": [0, 5]}}]},
            "known rectangle is about .* 20,000,000 cells",
        ),
        ({"attributes": HUGE, "known": [{"marginal": ["id"]}]}, "known marginal is about id"),
        (
            {"attributes": LARGE, "known": [{"rectangle": {"id": [k, k + 5]}} for k in range(200)]},
            "known counts up to here are about more than 20,000,000 cells",
        ),
        (
            {
                "attributes": LARGE,
                "release": [
                    {"name": f"h{k}", "histogram": "id", "bins": {"id": [[0, k], [k + 1, 4_000_000]]}}
                    for k in range(99)
                ],
            },
            "bins up to here are of more than 20,000,000 values",
        ),
        (
            {"attributes": LARGE, "release": [{"name": "r", "ranges": {"id": [[k, k + 5] for k in range(500)]}}]},
            "4,000,001 values, too many for 500 listed ranges",
        ),
    ],
)
def test_what_would_fill_the_memory_is_refused_before_it_is_made(changes: dict[str, object], refusal: str) -> None:
    with pytest.raises(PolicyError, match=refusal):
        load_policy(small(**({"secrets": {}, "release": [{"name": "h", "histogram": "sex"}]} | changes)))


@pytest.mark.parametrize("name", ["Ålder", "it's", 'say "hi"', "a: b", "{x}", "年齢", "a b", "#", "~", "yes", "1"])
def test_names_may_be_anything_printable(name: str) -> None:
    policy = load_policy(
        small(
            attributes={name: ["a", "{what}"]}, secrets={name: "public"}, release=[{"name": "h", "histogram": [name]}]
        )
    )
    assert policy.domain.names == (name,)
    assert load_policy(policy.document) == policy


@pytest.mark.parametrize("source", [{}, {"dataset": {}}, {"a": {1, 2}}, {1: 2}, 5, None, b"x", {"dataset": b"x"}])
def test_things_that_are_no_policy(source) -> None:
    with pytest.raises(PolicyError):
        load_policy(source)


def test_a_dict_without_end_is_refused() -> None:
    endless: dict[str, object] = copy.copy(small())
    endless["release"] = [endless]
    with pytest.raises(PolicyError, match="nested too deeply"):
        load_policy(endless)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    for path in (tmp_path / "none.yaml", tmp_path, "nul\0l", ""):
        with pytest.raises(PolicyError, match="cannot be read"):
            load_policy(path)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=300))
def test_random_bytes_never_do_anything_but_fail_cleanly(tmp_path_factory, content: bytes) -> None:
    path = saved(tmp_path_factory.mktemp("random"), content)
    with pytest.raises((PolicyError, Refused)):
        load_policy(path)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_damaged_file_loads_or_fails_cleanly(tmp_path_factory, data: st.DataObject) -> None:
    content = bytearray(FILE.encode())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    path = saved(tmp_path_factory.mktemp("damaged"), bytes(content))
    with suppress(PolicyError, Refused):
        load_policy(path)


def test_whatever_takes_a_policy_takes_its_file_or_dict(tmp_path: Path) -> None:
    path = saved(tmp_path, FILE)
    policy = load_policy(path)
    assert load_policy(policy) is policy
    for source in (path, str(path), dict(policy.document)):
        assert td.plan(source).certificate == td.plan(policy).certificate
        assert td.explain(source).text == td.explain(policy).text


@pytest.mark.parametrize("form", [dict, list])
def test_nothing_may_be_secret_but_presence(form: type) -> None:
    named = {"x": {"integer": [0, 3]}, "s": ["a", "b"], "town": {"open": "text"}}
    listed = [
        {"name": "x", "integer": [0, 3]},
        {"name": "s", "categories": ["a", "b"]},
        {"name": "town", "open": "text"},
    ]
    document = {
        "dataset": "d",
        "attributes": named if form is dict else listed,
        "secrets": "none but presence",
        "budget": {"epsilon": 1},
    }
    policy = load_policy(document)
    assert policy.document["secrets"] == {"x": "public", "s": "public", "town": "everything"}
    assert policy.graph.distance((0, "a"), (3, "b")) == 2
    assert policy.graph.is_edge((0, "a"), ABSENT)
    assert not policy.graph.is_edge((0, "a"), (0, "b"))
    assert load_policy(policy.document) == policy
    with pytest.raises(PolicyError, match=r"secrets: presence is the only secret here, and it is said to be public"):
        load_policy(document | {"presence": "public"})
    with pytest.raises(PolicyError, match="write none but presence, or"):
        load_policy(document | {"secrets": "nothing"})


# -- held -------------------------------------------------------------------------------------------
# A policy file while it is written: what is wrong with it, and as much of a policy as can be looked at already.


TEXT = """\
dataset: people
presence: public
attributes:
  age: {integer: [0, 99]}
  sex: [F, M]
secrets: {age: {within: 5}}
budget: {epsilon: 1}
release:
- {name: ages, histogram: age}
- {name: broken, histogram: nobody}
- {name: sexes, histogram: sex}
- {name: worse, mean: sex}
"""


def test_every_problem_has_its_path_line_words_and_fix() -> None:
    with pytest.raises(PolicyError) as caught:
        load_policy(TEXT)
    found = caught.value.problems
    assert [(problem.path[:2], problem.line) for problem in found] == [(("release", 1), 10), (("release", 3), 12)]
    assert all(problem.what and problem.fix for problem in found)
    assert parse_partial(TEXT).problems == found


def test_a_finished_file_is_its_policy() -> None:
    text = TEXT.replace("nobody", "sex").replace("mean: sex", "mean: age")
    held = parse_partial(text)
    assert held.problems == held.left_out == ()
    assert held.policy == load_policy(text)


def test_unfinished_questions_are_left_out_and_keep_their_place_in_the_file() -> None:
    held = parse_partial(TEXT)
    assert held.left_out == (("release", 1), ("release", 3))
    assert held.policy is not None
    assert [item.name for item in held.policy.items] == ["ages", "sexes"]
    # once the column is taken out, a question about it is unfinished too: its place is counted in the file
    held = parse_partial(TEXT.replace("[F, M]", "CONFIRM").replace("nobody", "age"))
    assert held.policy is not None
    assert sorted(held.left_out, key=str) == [("attributes", "sex"), ("release", 2), ("release", 3)]
    assert [item.name for item in held.policy.items] == ["ages", "broken"]


def test_a_fresh_draft_can_be_held() -> None:
    held = parse_partial(starter(Metadata("people", (("age", "integer"), ("member", "boolean")))))
    assert held.policy is not None
    assert held.policy.domain.names == ("member",)
    assert [problem.path for problem in held.problems] == [("attributes", "age", "integer", n) for n in (0, 1)]
    assert parse_partial(starter(Metadata("people", (("age", "integer"),)))).policy is None  # no column is left


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("{age: {within: 5}}", "{age: {within: -5}}"),
        ("{age: {within: 5}}", "{height: public}"),
        ("presence: public", "presence: maybe"),
        ("budget:", "attackers: [everybody]\nbudget:"),
        ("budget:", "known: [{count: nobody = 3, is: 4}]\nbudget:"),
        ("budget:", "individuals: {key: id, at most: none}\nbudget:"),
        ("budget:", "groups: {by: nobody, rules: {F: none}}\nbudget:"),
        ("budget:", "sekrets: {}\nbudget:"),
        ("dataset: people", "dataset: [people"),
    ],
)
def test_a_promise_is_never_shown_without_a_part_of_it(old: str, new: str) -> None:
    held = parse_partial(TEXT.replace(old, new))
    assert held.policy is None
    assert held.problems


def test_what_is_beside_the_promise_may_be_unfinished() -> None:
    held = parse_partial(TEXT.replace("budget: {epsilon: 1}", "budget: {epsilon: much}\npublisher: {contakt: x}"))
    assert held.policy is not None
    assert {("budget",), ("publisher",)} <= {*held.left_out}


# -- canonical --------------------------------------------------------------------------------------
# The normal form of a policy reads back as the same policy, wherever it has been kept.


@settings(max_examples=200, deadline=None)
@given(policies())
def test_documents_read_back_as_equal_policies(document: dict) -> None:
    policy = load_policy(document)
    kept = json.loads(json.dumps(policy.document, sort_keys=True, allow_nan=False))
    again = load_policy(kept)
    assert again == policy
    assert again.document == policy.document
    assert kept == policy.document


def test_ways_to_say_the_same_have_one_document() -> None:
    one = {"dataset": "d", "attributes": {"x": {"integer": ["0", 9]}}, "budget": {"epsilon": "1.0"}}
    long = {
        "tetraodon": 1,
        "dataset": "d",
        "individuals": "one row each",
        "presence": "secret",
        "attributes": [{"name": "x", "integer": [0, 9], "missing": 0}],
        "secrets": {"x": "everything"},
        "together": {"at most": 3},
        "known": [],
        "attackers": ["independent"],
        "budget": {"epsilon": 1},
        "release": [],
    }
    assert load_policy(one) == load_policy(long)
    assert load_policy(one).document == load_policy(long).document == {**long, "together": "all at once"}


def test_numbers_are_exact() -> None:
    assert [plain(Fraction(1, 10)), plain(Fraction(4, 2)), plain(Fraction(1, 3))] == ["0.1", 2, "1/3"]


def test_the_order_of_attributes_and_ranges_survives_sorted_keys() -> None:
    policy = load_policy(
        {
            "dataset": "d",
            "attributes": {"z": {"integer": [0, 9]}, "a": ["x", "y"]},
            "budget": {"epsilon": 1},
            "release": [{"name": "r", "ranges": {"z": {"old": [5, 9], "all": [0, 9]}}}],
        }
    )
    kept = load_policy(json.loads(json.dumps(policy.document, sort_keys=True)))
    assert kept.domain.names == ("z", "a")
    assert [name for name, _, _ in kept.items[0].query.named] == ["old", "all"]


def test_the_office_s_words_for_items_and_units_survive() -> None:
    item = {"name": "n", "title": "How many", "notes": "Not those\n  abroad.", "count": "all"}
    policy = load_policy(
        {
            "dataset": "d",
            "attributes": {"x": {"integer": [0, 9], "unit": ["child", "children"]}},
            "budget": {"epsilon": 1},
            "release": [item, {"name": "m", "mean": "x", "notes": ["One.", "Two."]}],
        }
    )
    assert [(item.title, item.notes) for item in policy.items] == [
        ("How many", ("Not those abroad.",)),
        ("", ("One.", "Two.")),
    ]
    assert policy.domain["x"].measured(1) == "1 child"
    assert load_policy(json.loads(json.dumps(policy.document))) == policy
    assert "title" not in policy.document["release"][1]


@pytest.mark.parametrize("word", ["among", "of"])
def test_a_part_of_the_records_is_written_back_with_one_word(word: str) -> None:
    policy = {"dataset": "d", "attributes": {"x": {"integer": [0, 9]}}, "budget": {"epsilon": 1}}
    one, other = (
        load_policy({**policy, "release": [{"name": "n", "median": "x", key: "x > 3"}]}) for key in (word, "where")
    )
    assert one == other
    assert one.document == other.document


# -- policy -----------------------------------------------------------------------------------------
# The policy as a value.


@pytest.fixture
def policy() -> Policy:
    return load_policy(
        {
            "dataset": "d",
            "presence": "public",
            "attributes": {"a": ["x", "y", "z"], "b": ["x", "y"]},
            "secrets": {"a": "public"},
            "budget": {"epsilon": 1},
        }
    )


def test_checks_fire(policy: Policy) -> None:
    with pytest.raises(PolicyError, match="epsilon is not positive"):
        policy.with_epsilon(Fraction(0))
    with pytest.raises(PolicyError, match="two items are called 'n'"):
        replace(policy, items=(Item("n", count()), Item("n", count())))
    with pytest.raises(PolicyError, match="share"):
        Item("n", count(), Fraction(-1))


def test_plain_differential_privacy_makes_any_two_records_a_secret(policy: Policy) -> None:
    assert policy.graph.distance(("x", "x"), ("y", "x")) == float("inf")
    assert policy.plain().graph.is_edge(("x", "x"), ("y", "y"))
    assert policy.plain().epsilon == policy.epsilon


def test_where_it_was_read_makes_no_difference(policy: Policy) -> None:
    assert replace(policy, source="elsewhere.yaml") == policy


def test_the_size_is_public_only_for_known_people_with_one_row(policy: Policy) -> None:
    assert policy.size_is_public
    assert not replace(policy, presence="secret").size_is_public
    assert not replace(policy, key="id").size_is_public

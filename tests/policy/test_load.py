"""Policy files that say something, and everything that is wrong with those that do not."""

from __future__ import annotations

import copy
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.policy.mistakes import FILE, WRONG, small

import tetraodon as td
from tetraodon.errors import PolicyError, Refused
from tetraodon.exact.zcdp import epsilon_at
from tetraodon.policy.load import load_policy
from tetraodon.policy.secret_graph import ABSENT


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

"""Policy files that say something, and everything that is wrong with those that do not."""

from __future__ import annotations

import copy
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tetraodon.domain import Booleans, Categories, Dates, Grid, Integers
from tetraodon.errors import PolicyError, Refused
from tetraodon.policy.attribute_graph import Blocks, Everything, Pairs, Public, Within
from tetraodon.policy.joint_metric import JointMetric
from tetraodon.policy.load import load_policy
from tetraodon.policy.secret_graph import ABSENT
from tetraodon.workload.query import cdf, count, histogram, mean, quantiles, ranges, total

FILE = """\
tetraodon: 1                               # the first line
dataset: household-survey-2026
title: Capital losses of survey respondents
individuals: one row each
presence: public
attributes:
  age:          {integer: [17, 90]}
  sex:          [Female, Male]
  capital_loss: {integer: [0, 4356], unit: USD}
secrets:
  capital_loss: {within: 100}
  age:          {within: 5}
  sex:          public
together: one attribute at a time
known: []
attackers: [independent]
budget: {epsilon: 1}
table: {separator: ";", decimal: ",", encoding: latin-1}
release:
  - {name: losses, cdf: capital_loss, share: 3}
  - {name: ages,   histogram: [age, sex], share: 1}
"""


def saved(folder: Path, text: str | bytes) -> Path:
    path = folder / "people.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def small(**changes: object) -> dict[str, object]:
    """A short valid policy, changed."""
    return {
        "dataset": "d",
        "presence": "public",
        "attributes": {
            "x": {"integer": [0, 9]},
            "y": {"real": [0, 1], "step": "0.1"},
            "c": ["a", "b", "c"],
            "o": {"ordered": ["low", "middle", "high"]},
            "d": {"date": ["2020-01-01", "2020-12-31"]},
            "t": "boolean",
        },
        "budget": {"epsilon": 1},
        **changes,
    }


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


def test_kinds_of_attributes() -> None:
    domain = load_policy(
        small(
            attributes={
                "i": {"integer": [-3, 1_000_000_000_000]},
                "r": {"real": ["0", "10"], "step": 0.1},
                "d": {"date": ["2020-01-01", "2020-12-31"]},
                "o": {"ordered": ["low", "high"]},
                "b": "boolean",
                "c": {"categories": ["a", "b", "other"], "missing": "b", "other": "other", "unit": "kind"},
                "n": ["Yes", "No", "on", "007", 1.5],
                "z": {"integer": [0, 9], "missing": 9, "other": 5},
            }
        )
    ).domain
    assert domain["i"].values == Integers(-3, 10**12)
    assert domain["r"].values == Grid(Fraction(0), Fraction(10), Fraction(1, 10))
    assert isinstance(domain["d"].values, Dates)
    assert domain["o"].values == Categories(("low", "high"), ordered=True)
    assert domain["b"].values == Booleans()
    assert (domain["c"].missing, domain["c"].other, domain["c"].unit) == (1, 2, "kind")
    assert domain["n"].labels == ("Yes", "No", "on", "007", "1.5")
    assert (domain["z"].missing, domain["z"].other) == (9, 5)
    assert (domain["i"].missing, domain["i"].other) == (0, None)
    assert (domain["b"].missing, domain["b"].other) == (0, 0)


def test_words_of_a_file_stay_as_they_were_typed(tmp_path: Path) -> None:
    values = "[Yes, No, on, off, null, 1.0, 1_0, 0x1F, 2020-01-01, true, '']"
    text = f"dataset: d\nattributes:\n  a: {values}\nbudget: {{epsilon: 1}}\n"
    domain = load_policy(saved(tmp_path, text)).domain
    expected = ("Yes", "No", "on", "off", "null", "1.0", "1_0", "0x1F", "2020-01-01", "true", "")
    assert domain["a"].labels == expected


def test_kinds_of_secrets() -> None:
    graph = load_policy(
        small(
            secrets={
                "x": {"blocks": [[5, 9], [0, 4]]},
                "y": {"within": 0.25},
                "c": {"pairs": [["b", "a"]]},
                "o": {"within": 1},
                "d": {"within": 1000},
                "t": "public",
            }
        )
    ).graph
    found = {factor.names[0]: factor.graph for factor in graph.factors}
    assert found["x"] == Blocks((0,) * 5 + (1,) * 5)
    assert found["y"] == Within(11, 2)
    assert found["c"] == Pairs(3, frozenset({(0, 1)}))
    assert found["o"] == Within(3, 1)
    assert found["d"] == Within(366, 365)
    assert found["t"] == Public(2)
    assert graph.at_most == 6
    assert load_policy(small()).graph.factors[0].graph == Everything(10)


@pytest.mark.parametrize(
    ("together", "at_most"),
    [
        ("one attribute at a time", 1),
        ("all at once", 6),
        ({"at most": 2}, 2),
        ({"at most": "2"}, 2),
        ({"at most": 99}, 6),
    ],
)
def test_together(together: object, at_most: int) -> None:
    assert load_policy(small(together=together)).graph.at_most == at_most


def test_a_joint_metric_is_one_factor() -> None:
    graph = load_policy(small(together={"metric": "l1", "over": ["y", "x"], "within": "1.5"})).graph
    assert graph.factors[0].names == ("y", "x")
    assert isinstance(graph.factors[0].graph, JointMetric)
    assert graph.at_most == len(graph.factors) == 5
    record = (3, 0, "a", "low", "2020-01-01", True)
    assert graph.is_edge(record, (4, "0.5", "b", "high", "2020-02-01", False))
    assert not graph.is_edge(record, (4, "0.6", "a", "low", "2020-01-01", True))


@pytest.mark.parametrize("rows", ["3 rows", "3", 3, "3  rows"])
def test_individuals_with_a_key(rows: object) -> None:
    policy = load_policy(small(individuals={"key": "person", "at most": rows}))
    assert (policy.key, policy.rows_per_person) == ("person", 3)
    assert policy.graph.absent
    assert not policy.size_is_public


def test_presence() -> None:
    assert not load_policy(small()).graph.absent
    assert load_policy(small(presence="secret")).graph.absent


@pytest.mark.parametrize(
    ("words", "query"),
    [
        ({"count": "all"}, count()),
        ({"count": "all", "by": "c"}, count(by=["c"])),
        ({"count": "x > 3"}, count("x > 3")),
        ({"histogram": "c"}, histogram("c")),
        ({"histogram": ["x", "c"], "bins": {"x": [[5, 9], [0, 4]]}}, histogram("x", "c", bins={"x": [[0, 4], [5, 9]]})),
        ({"histogram": "x", "bins": {"x": 4}}, histogram("x", bins={"x": [[0, 3], [4, 7], [8, 9]]})),
        ({"histogram": "y", "bins": {"y": 0.5}}, None),
        ({"histogram": "c", "bins": {"c": [["c"], ["a", "b"]]}}, histogram("c", bins={"c": [["a", "b"], ["c"]]})),
        ({"histogram": "x", "bins": {"x": "secret blocks"}}, histogram("x", bins={"x": [[0, 4], [5, 9]]})),
        ({"cdf": "o", "by": ["c", "t"]}, cdf("o", by=["c", "t"])),
        ({"ranges": "x"}, ranges("x")),
        ({"ranges": {"x": [[0, 4], [2, 3]]}}, ranges("x", [[0, 4], [2, 3]])),
        ({"ranges": {"x": {"young": [0, 4]}}}, ranges("x", {"young": [0, 4]})),
        ({"ranges": {"x": [{"name": "young", "range": [0, 4]}]}}, ranges("x", {"young": [0, 4]})),
        ({"total": "x", "weight": "y"}, total("x", weight="y")),
        ({"sum": "x"}, total("x")),
        ({"mean": "y", "by": "c"}, mean("y", by=["c"])),
        ({"quantiles": "x", "at": [0.1, "1/3"]}, quantiles("x", at=["0.1", "1/3"])),
        ({"quantiles": "d"}, quantiles("d")),
    ],
)
def test_kinds_of_items(words: dict[str, object], query: object) -> None:
    policy = load_policy(small(secrets={"x": {"blocks": [[0, 4], [5, 9]]}}, release=[{"name": "it", **words}]))
    [item] = policy.items
    if query is not None:
        assert item.query == query
    assert (item.share, item.whole) == (1, False)
    again = load_policy(policy.document)
    assert again == policy
    assert again.document == policy.document


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

WRONG = [
    # in the file, what is changed into what, the line, and words of the message
    ("presence:", "presense:", 5, "'presense' is not known here. Fix: did you mean 'presence'?"),
    ("age:          {within", "agee:          {within", 12, "no attribute 'agee'. Fix: did you mean 'age'?"),
    ("{integer: [17, 90]}", "{integr: [17, 90]}", 7, "did you mean 'integer'?"),
    ("{integer: [17, 90]}", "{integer: [90, 17]}", 7, "is empty"),
    ("{integer: [17, 90]}", "{integer: [17]}", 7, "two ends are expected"),
    ("{integer: [17, 90]}", "{integer: 17}", 7, "a list is expected"),
    ("{integer: [17, 90]}", "{integer: [17.5, 90]}", 7, "not a whole number"),
    ("{integer: [17, 90]}", "{integer: [17, 1e99]}", 7, "more than 10^18 values"),
    ("{integer: [17, 90]}", "{real: [17, 90]}", 7, "needs a grid"),
    ("{integer: [17, 90]}", "{real: [17, 90], step: 0}", 7, "not positive"),
    ("{integer: [17, 90]}", "{real: [17, 90], step: 0.3}", 7, "whole number of steps"),
    ("{integer: [17, 90]}", "{integer: [17, 90], step: 2}", 7, "only real attributes have a step"),
    ("{integer: [17, 90]}", "{integer: [17, 90], date: [a, b]}", 7, "both `integer` and `date`"),
    ("{integer: [17, 90]}", "{unit: years}", 7, "does not say which kind"),
    ("{integer: [17, 90]}", "{integer: [17, 90], missing: 16}", 7, "'16' is not a value of age"),
    ("{integer: [17, 90]}", "whole numbers", 7, "'whole numbers' is not understood"),
    ("{integer: [17, 90]}", "{date: [2020-02-30, 2021-01-01]}", 7, "'2020-02-30' is not a day"),
    ("{integer: [17, 90]}", "{boolean: false}", 7, "says nothing"),
    ("{integer: [17, 90]}", "{integer: [17, 90], name: old}", 7, "the name is not the key"),
    ("{integer: [17, 90]}", "{integer: [CONFIRM, CONFIRM]}", 7, "CONFIRM still stands here"),
    ("[Female, Male]", "[]", 8, "empty"),
    ("[Female, Male]", "", 8, "a map of keys and values is expected"),
    ("[Female, Male]", "[Female, [Male]]", 8, "a single value is expected"),
    ("[Female, Male]", "[Female, Male, Male]", 8, "listed twice"),
    ("[Female, Male]", "{categories: [Female, Male], other: Mael}", 8, "did you mean 'Male'?"),
    ("{within: 5}", "{within: -5}", 12, "`within` is below zero"),
    ("{within: 5}", "{within: 0}", 12, "or `public` if no two values need protection"),
    ("{within: 5}", "{within: 0.99}", 12, "reaches no other value"),
    ("{within: 5}", "{within: .nan}", 12, "not a finite number"),
    ("{within: 5}", "{within: [5]}", 12, "a list is not a finite number"),
    ("{within: 5}", "{}", 12, "does not say which kind"),
    ("{within: 5}", "{everything: false}", 12, "says nothing"),
    ("{within: 5}", "{blocks: [[17, 30], [30, 90]]}", 12, "two blocks of age overlap at 30"),
    ("{within: 5}", "{blocks: [[17, 30], [32, 90]]}", 12, "leave 31 out"),
    ("{within: 5}", "{blocks: [[17, 20, 90]]}", 12, "is not a range"),
    ("{within: 5}", "{blocks: [[90, 17]]}", 12, "is not a range"),
    ("{within: 5}", "{blocks: [[]]}", 12, "is empty"),
    ("{within: 5}", "{blocks: 3}", 12, "a list is expected"),
    ("{within: 5}", "{blocks: [17, 90]}", 12, "a list is expected"),
    ("{within: 5}", "{pairs: [[17, 91]]}", 12, "'91' is not a value of age. Fix: use values from 17 to 90"),
    ("{within: 5}", "{pairs: [[17, 17.5]]}", 12, "'17.5' is not a value of age"),
    ("{within: 5}", "{pairs: [[17]]}", 12, "does not have two values"),
    ("{within: 5}", "{pairs: [[17, 17]]}", 12, "to itself"),
    ("{within: 5}", "{pairs: []}", 12, "is empty"),
    ("sex:          public", "sex: {within: 1}", 13, "have no order"),
    ("sex:          public", "sex: pubic", 13, "write everything or public"),
    ("sex:          public", "sex: {pairs: [[Female, Mael]]}", 13, "did you mean 'Male'?"),
    ("sex:          public", "sex: {blocks: [[Female, Female], [Male]]}", 13, "lists a value twice"),
    ("one attribute at a time", "one at a time", 14, "is not understood"),
    ("one attribute at a time", "{at most: 0}", 14, "below one"),
    ("one attribute at a time", "{at most: 1.5}", 14, "not a whole number"),
    ("one attribute at a time", "{metric: l3, over: [age], within: 1}", 14, "'l3' is not understood"),
    ("one attribute at a time", "{metric: l1, over: [age, sex], within: 1}", 14, "sex is not a number"),
    ("one attribute at a time", "{metric: l1, over: [age], within: 1}", 12, "measured by `together` already"),
    ("one attribute at a time", "{metric: l1, over: [age, age], within: 1}", 14, "named twice"),
    ("one attribute at a time", "{metric: l1, over: [aeg], within: 1}", 14, "did you mean 'age'?"),
    ("one attribute at a time", "{metric: l1, over: [age]}", 14, "needs `over` and `within`"),
    ("one attribute at a time", "{over: [age], within: 3}", 14, "the metric is missing"),
    ("one attribute at a time", "{metric: l1, over: [age], within: 1, at most: 1}", 14, "cannot be combined"),
    ("one attribute at a time", "{metric: l1, over: [age], within: -1}", 14, "not positive"),
    ("one attribute at a time", "{metric: great circle km, over: [age], within: 1}", 14, "needs two attributes"),
    ("one row each", "two rows each", 4, "is not understood"),
    ("one row each", "{key: id}", 4, "`at most` is missing"),
    ("one row each", "{key: id, at most: none}", 4, "not a finite number"),
    ("one row each", "{key: id, at most: 0 rows}", 4, "between 1 and"),
    ("presence: public", "presence: hidden", 5, "write one of: public, secret"),
    ("{epsilon: 1}", "{epsilon: 0}", 17, "epsilon is not positive"),
    ("{epsilon: 1}", "{epsilon: -1}", 17, "epsilon is not positive"),
    ("{epsilon: 1}", "{epsilon: NaN}", 17, "not a finite number"),
    ("{epsilon: 1}", "{epsilon: .inf}", 17, "not a finite number"),
    ("{epsilon: 1}", "{epsilon: 1e999999999}", 17, "not a finite number"),
    ("{epsilon: 1}", "{epsilon: 1/0}", 17, "not a finite number"),
    ("{epsilon: 1}", "{epsilon: one}", 17, "not a finite number"),
    ("{epsilon: 1}", "{epsilon: }", 17, "nothing is not a finite number"),
    ("{epsilon: 1}", "1", 17, "a map of keys and values is expected"),
    ("{epsilon: 1}", "{}", 17, "`epsilon` is missing"),
    ("{epsilon: 1}", "", 17, "`budget` is missing"),
    ("dataset: household-survey-2026", "dataset: ''", 2, "where text is expected"),
    ("dataset: household-survey-2026", 'dataset: "a\\nb"', 2, "unprintable"),
    ("dataset: household-survey-2026", "", 1, "`dataset` is missing"),
    ("tetraodon: 1", "tetraodon: 2", 1, "Fix: upgrade tetraodon"),
    ("tetraodon: 1", "tetraodon: 0", 1, "no such version"),
    ('separator: ";"', "separator: ';;'", 18, "not one character"),
    ('separator: ";"', "separator: ','", 18, "not one character"),
    ("latin-1", "klingon", 18, "no such encoding"),
    ('decimal: ","', "decimal: ;", 18, "is not understood"),
    ("share: 3", "share: 0", 20, "share is not positive"),
    ("share: 3", "share: -2", 20, "share is not positive"),
    ("cdf: capital_loss", "cdf: capital_los", 20, "did you mean 'capital_loss'?"),
    ("cdf: capital_loss", "cdf: sex", 20, "have no order"),
    ("cdf: capital_loss", "cdf: [sex]", 20, "a list stands where text is expected"),
    ("cdf: capital_loss", "cfd: capital_loss", 20, "did you mean 'cdf'?"),
    ("cdf: capital_loss", "cdf: age, mean: age", 20, "both `cdf` and `mean`"),
    ("cdf: capital_loss", "mean: sex", 20, "is not a number"),
    ("cdf: capital_loss", "cdf: age, bins: {age: 10}", 20, "`bins` means nothing for `cdf`"),
    ("cdf: capital_loss", "cdf: age, by: age", 20, "used twice"),
    ("cdf: capital_loss", "quantiles: age, at: [1.5]", 20, "between 0 and 1"),
    ("cdf: capital_loss", "ranges: {age: []}", 20, "list of ranges is empty"),
    ("cdf: capital_loss", "ranges: {age: [[17]]}", 20, "not a pair"),
    ("cdf: capital_loss", "ranges: {age: 3}", 20, "does not list ranges"),
    ("cdf: capital_loss", "ranges: [age]", 20, "does not name ranges"),
    ("cdf: capital_loss", "ranges: {age: [[40, 30]]}", 20, "is empty"),
    ("cdf: capital_loss", "ranges: {age: [[17, 18], [17, 18]]}", 20, "two ranges are called"),
    ("histogram: [age, sex]", "histogram: []", 21, "has no attribute"),
    ("histogram: [age, sex]", "histogram: age, by: sex", 21, "`by` means nothing"),
    ("histogram: [age, sex]", "histogram: age, bins: {agee: 10}", 21, "did you mean 'age'?"),
    ("histogram: [age, sex]", "histogram: age, bins: {age: 0}", 21, "not a width"),
    ("histogram: [age, sex]", "histogram: age, bins: {age: ten}", 21, "not a finite number"),
    ("histogram: [age, sex]", "histogram: age, bins: {age: [[17, 90], [18, 19]]}", 21, "two bins of age overlap"),
    ("histogram: [age, sex]", "histogram: age, bins: {age: secret blocks}", 21, "are not blocks"),
    ("histogram: [age, sex]", "histogram: age, bins: [10]", 21, "`bins` is not a map"),
    ("histogram: [age, sex]", "histogram: age, bins: {age: [17]}", 21, "not a list of values"),
    ("histogram: [age, sex]", "histogram: sex, bins: {sex: 2}", 21, "not a width"),
    ("name: ages", "name: losses", 21, "two items are called 'losses'"),
    ("name: ages", "name: ../ages", 21, "name of a file"),
    ("name: ages,", "", 21, "`name` is missing"),
    ("share: 1", "whole: yes", 21, "neither true nor false"),
    ("attributes:\n", "attributes: [1]\nmore:\n", 6, "a map of keys and values is expected"),
    ("attributes:\n", "attributes: [{name: a, integer: [0, 1]}, {name: a, boolean: true}]\nmore:\n", 6, "share a name"),
    ("attributes:\n", "attributes: {}\nmore:\n", 7, "the key 'more'"),
]


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
        ("known: []", "known: [{count: age}]", "releasing as if nothing were known would be unsafe"),
        ("[independent]", "[correlated]", "independent are priced"),
        ("[independent]", "[]", "independent are priced"),
        ("{epsilon: 1}", "{epsilon: 1, delta: 1e-6}", "delta is not supported"),
    ],
)
def test_what_cannot_be_kept_is_refused(tmp_path: Path, old: str, new: str, words: str) -> None:
    with pytest.raises(Refused, match=words):
        load_policy(saved(tmp_path, FILE.replace(old, new, 1)))


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    text = FILE.replace("within: 5", "within: -1").replace("within: 100", "within: nothing")
    with pytest.raises(PolicyError) as caught:
        load_policy(saved(tmp_path, text.replace("presence", "presense")))
    lines = str(caught.value).splitlines()
    assert [line.split(":")[0] for line in lines] == ["people.yaml line 5", "people.yaml line 11"]
    assert caught.value.what == "the key 'presense' is not known here"


@pytest.mark.parametrize(
    ("attributes", "within", "what"),
    [
        ({"lat": {"integer": [-91, 0]}, "lon": {"integer": [0, 10]}}, 500, "beyond the degrees of a latitude"),
        ({"lat": {"integer": [0, 10]}, "lon": {"integer": [0, 361]}}, 500, "beyond the degrees of a longitude"),
        ({"lat": {"integer": [0, 10]}, "lon": {"integer": [-180, 181]}}, 500, "beyond the degrees of a longitude"),
        ({"lat": {"integer": [0, 10]}, "lon": {"integer": [0, 10]}}, 1, "reaches no other value"),
        ({"lat": {"integer": [0, 10**10]}, "lon": {"integer": [0, 10**10]}}, 1, "10^18 values together"),
    ],
)
def test_maps_that_are_none_are_refused(attributes, within, what: str) -> None:
    together = {"metric": "great circle km", "over": ["lat", "lon"], "within": within}
    with pytest.raises(PolicyError) as caught:
        load_policy(small(attributes=attributes, together=together))
    assert what in str(caught.value)


def test_a_map_that_closes_around_the_globe_has_secrets() -> None:
    attributes = {"lat": {"integer": [0, 0]}, "lon": {"real": [-180, 180], "step": 90}}
    policy = load_policy(
        small(attributes=attributes, together={"metric": "great circle km", "over": ["lat", "lon"], "within": 1})
    )
    assert policy.graph.is_edge((0, -180), (0, 180))


@pytest.mark.parametrize("secret", [{"blocks": [[0, 9_999_999]]}, None])
def test_listing_the_values_of_a_huge_attribute_is_refused(secret: object) -> None:
    changes: dict[str, object] = {"attributes": {"id": {"integer": [0, 9_999_999]}}}
    if secret:
        changes["secrets"] = {"id": secret}
    else:
        changes["release"] = [{"name": "h", "histogram": "id", "bins": {"id": 10}}]
    with pytest.raises(PolicyError, match="more than 5,000,000 values"):
        load_policy(small(**changes))
    with pytest.raises(PolicyError, match="too many for listed ranges"):
        load_policy(small(attributes=changes["attributes"], release=[{"name": "r", "ranges": {"id": [[0, 1]]}}]))


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

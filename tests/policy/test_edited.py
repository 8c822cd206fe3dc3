"""One change to the text of a policy file: the rest of it, comments and order included, stays as it was typed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tetraodon.errors import PolicyError
from tetraodon.policy.edit import edit_policy
from tetraodon.policy.load import load_policy
from tetraodon.policy.source import KeyPath, Plain, as_plain, parse

TEXT = """\
dataset: people  # the name
attributes:
  age:  # in years
    integer: [0, 120]
    missing: separate
  sex: [Female, Male]
secrets:
  age: {within: 5,}  # agreed with the board

# what is asked
release:
- histogram: age
  name: ages
-  # a count - of men
  count: "sex = 'Männer'"   # ümläute
"""


@pytest.mark.parametrize(
    ("path", "value", "old", "new"),
    [
        (("secrets", "age", "within"), 10, "{within: 5,}", "{within: 10,}"),
        (("secrets", "age"), "public", "{within: 5,}", "public"),
        (("secrets", "age", "of"), 1, "{within: 5,}", "{within: 5, of: 1,}"),
        (("secrets", "sex"), {"blocks": [["a b"]]}, "the board\n", "the board\n  sex: {blocks: [[a b]]}\n"),
        (("attributes", "age", "integer", 1), 99, "[0, 120]", "[0, 99]"),
        (("attributes", "age", "unit"), "years", "separate\n", "separate\n    unit: years\n"),
        (("attributes", "age", "missing"), None, "    missing: separate\n", ""),
        (("attributes", "sex", 0), None, "[Female, Male]", "[Male]"),
        (("attributes", "sex", 1), None, "[Female, Male]", "[Female]"),
        (("attributes", "sex", 2), "no, other", "[Female, Male]", "[Female, Male, 'no, other']"),
        (("attributes", "age"), {"integer": [0, 9]}, "integer: [0, 120]\n    missing: separate", "{integer: [0, 9]}"),
        (("release", 0, "histogram"), None, "- histogram: age\n  name", "- name"),
        (("release", 0), None, "- histogram: age\n  name: ages\n", ""),
        (("release", 1), None, "-  # a count - of men\n  count: \"sex = 'Männer'\"   # ümläute\n", ""),
        (("release", 2), {"mean": "age"}, "# ümläute\n", "# ümläute\n- {mean: age}\n"),
        (("notes", 0), "mind", "# ümläute\n", "# ümläute\nnotes: [mind]\n"),
        (("budget", "epsilon"), 0.5, "# ümläute\n", "# ümläute\nbudget: {epsilon: 0.5}\n"),
    ],
)
def test_only_its_span_changes(path: KeyPath, value: object, old: str, new: str) -> None:
    assert TEXT.count(old) == 1
    assert edit_policy(TEXT, path, value) == TEXT.replace(old, new)


def test_a_key_without_a_value_and_a_file_without_a_last_line_end() -> None:
    assert edit_policy("a:  # none yet\nb: 1", ("a", "x"), "y") == "a: {x: y}  # none yet\nb: 1"
    assert edit_policy("a:\n  - 1", ("a", 1), "2") == "a:\n  - 1\n  - 2"
    assert edit_policy("a: |\n  text\n  more\nb: 1\n", ("a",), "") == "a: ''\nb: 1\n"
    assert edit_policy("a: {b: 1}", ("a", "b"), None) == "a: {}"


def test_a_reason_stands_above_the_line_that_it_explains() -> None:
    found = edit_policy(TEXT, ("secrets", "age", "within"), 10, reason="a colleague knows the age\nto within ten years")
    above = "  # a colleague knows the age\n  # to within ten years\n  age: {within: 10,}"
    assert found == TEXT.replace("  age: {within: 5,}", above)


@pytest.mark.parametrize(
    ("path", "value"),
    [(("nobody",), None), (("release", 5), 1), (("dataset", "x"), 1), (("dataset",), [None]), (("k" * 2000,), 1)],
)
def test_what_cannot_be_written_is_refused(path: KeyPath, value: object) -> None:
    with pytest.raises(PolicyError, match="Fix:"):
        edit_policy(TEXT, path, value)


def test_the_demonstration_is_still_a_policy_after_an_edit() -> None:
    text = (Path(__file__).parents[2] / "src/tetraodon/demo/adult.policy.yaml").read_text()
    found = edit_policy(text, ("budget", "epsilon"), "1/3")
    assert load_policy(found).epsilon * 3 == 1
    assert sum(a != b for a, b in zip(text.splitlines(), found.splitlines(), strict=True)) == 1


TYPED = ["age", "no", "a b", "x: y", "#1", "- z", "{", "'", '"', "ü", "", "1e3"]
WORDS = st.one_of(st.sampled_from(TYPED), st.text(max_size=6))
KEYS = st.one_of(st.sampled_from(["age", "at most", "1", "ü", "a.b", "x: y"]), st.text(min_size=1, max_size=5))
VALUES = st.recursive(
    WORDS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=6
)
DOCUMENTS = st.dictionaries(KEYS, VALUES, min_size=1, max_size=4)


def written(value: Plain, draw: Any, indent: int) -> str:
    """A value as somebody could have typed it: in blocks or in brackets, with comments and empty lines."""
    quoted = edit_policy("a: b", ("a",), value)[3:]
    if not isinstance(value, dict | list) or not value or draw(st.booleans()):
        return " " + quoted + draw(st.sampled_from(["", "  # said", "   "])) + "\n"
    lines = draw(st.sampled_from(["", "  # what follows"])) + "\n"
    pairs = value.items() if isinstance(value, dict) else ((None, child) for child in value)
    for key, child in pairs:
        lines += draw(st.sampled_from(["", "\n", "# aside\n", " " * indent + "# mind\n"]))
        head = "-" if key is None else edit_policy("{a: b}", (key,), "v").removeprefix("{a: b, ").removesuffix(" v}")
        lines += " " * indent + head + written(child, draw, indent + 2)
    return lines


def paths_of(value: Plain, path: KeyPath = ()) -> list[KeyPath]:
    """The paths of all that is there, and of what could be added."""
    if isinstance(value, dict):
        inside = [found for key, child in value.items() for found in paths_of(child, (*path, key))]
        return [path, *inside, (*path, "a new key"), (*path, "another", "inside")]
    if isinstance(value, list):
        return [path, *(f for n, child in enumerate(value) for f in paths_of(child, (*path, n))), (*path, len(value))]
    return [path]


@settings(max_examples=1000, deadline=None)
@given(DOCUMENTS, VALUES | st.none(), st.data())
def test_a_thousand_edits_change_nothing_but_their_lines_and_read_as_meant(
    document: dict[str, Plain], value: Plain, data: Any
) -> None:
    try:
        text = written(document, data.draw, 0).lstrip("\n")
        there = parse(text.encode(), "p.yaml")
    except PolicyError:  # characters that YAML does not take
        return
    if there.data != document or "a new key" in document or "another" in document:
        return
    path = data.draw(st.sampled_from(paths_of(document)[1:]))
    try:
        found = edit_policy(text, path, value)
    except PolicyError:  # nothing is there to be taken out
        assert value is None
        assert path not in there.places
        return
    meant = there.data
    holder: Any = meant
    for key in path[:-1]:
        holder = holder.setdefault(key, {}) if isinstance(holder, dict) else holder[key]
    if value is None:
        del holder[path[-1]]
    elif isinstance(holder, list) and path[-1] == len(holder):
        holder.append(as_plain(value))
    else:
        holder[path[-1]] = as_plain(value)
    assert parse(found.encode(), "p.yaml").data == meant
    within = next(path[:n] for n in range(len(path), -1, -1) if n == 0 or path[:n] in there.places)
    if value is None and len(holder) == 0:
        within = path[:-1]  # an empty map or list stands in its place
    lines = [line for place, (line, _) in there.places.items() if place[: len(within)] == within]
    first, last = min(lines, default=1), max(lines)
    if within and isinstance(within[-1], int):  # its dash may stand on a line above
        first = max((line for line, _ in there.places.values() if line < first), default=0) + 1
    if value is None:  # a key behind a dash goes with all that stands before the next key
        last = min((line for line, _ in there.places.values() if line > last), default=last)
    old, new = text.split("\n"), found.split("\n")
    assert new[: first - 1] == old[: first - 1]
    assert len(old) == last or new[-(len(old) - last) :] == old[last:]

"""Words in every form of table, whatever they spell: every engine finds what plain Python finds."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal

from tests.engine.tables import check, found, table

from tetraodon.domain import Attribute, Booleans, Categories, Domain, Integers
from tetraodon.engine import open_table


def test_words_for_nothing_are_missing_where_missing_values_stand_apart(form, tmp_path):
    attributes = [
        Attribute("apart", Categories(("f", "m", "None")), missing=3, other=0, separate=True),
        Attribute("told", Booleans(), missing=2, other=1, separate=True),
        Attribute("mapped", Categories(("f", "m")), missing=1, other=0),
    ]
    words = ["NA", "n/a", "none", "None", "-", "nobody", "f", None, " NA "]
    records = [(word, word if word != "f" else "yes", word) for word in words]
    check(form, tmp_path, attributes, ["VARCHAR"] * 3, records)


def test_unicode_and_hostile_names(form, tmp_path):
    labels = (
        "Zürich",
        "東京",
        "'; DROP TABLE made; --",
        'a"b',
        "Zu\u0308rich",
        "back\\slash",
        "a,b;c",
        "two lines" if form == "csv" else "two\nlines",  # a line of a CSV file is a record
        " x ",
        "%",
        "😀",
        "\\' OR 1=1 --",
        "$$ {x} %s :y ?",
    )
    names = ("place \"of' birth", "x); DROP TABLE made; --", "select", "größe", "`; --\\", "a.b", "c0")
    attributes = [Attribute(name, Categories(labels), missing=0, other=9) for name in names]
    draw = random.Random(1)
    records = [tuple(draw.choice((*labels, None, "zürich", "x", "nowhere")) for _ in names) for _ in range(40)]
    check(form, tmp_path, attributes, ["VARCHAR"] * len(names), records)


def test_many_labels(form, tmp_path):
    labels = tuple(f"label {number}" for number in range(1500))
    attribute = Attribute("label", Categories(labels), missing=7, other=1499)
    check(
        form, tmp_path, [attribute], ["VARCHAR"], [(label,) for label in (*labels[::50], None, "label", "label 1500")]
    )


def test_numbers_as_categories(form, tmp_path):
    labels = Categories(("1", "2", "3", "1.5", "true", "2020-02-29", "none"))
    attributes = [Attribute(name, labels, missing=6, other=6) for name in "abcde"]
    kinds = ["INTEGER", "DOUBLE", "DECIMAL(6,2)", "BOOLEAN", "DATE"]
    day = dt.date(2020, 2, 29)
    records = [
        (1, 1.0, Decimal("1.00"), True, day),
        (2, 1.5, Decimal("1.50"), False, day),
        (None,) * 5,
        (3, 3.0, Decimal("3"), None, None),
    ]
    if form in ("csv", "pandas"):  # text and objects are taken at their word
        truth = [record[3] if form == "csv" else None for record in records]
        records = [(record[0], None, None, true, record[4]) for record, true in zip(records, truth, strict=True)]
    check(form, tmp_path, attributes, kinds, records)


def test_blanks_around_words(form, tmp_path):
    sex = Categories(("f", "m", "none", "other"))
    trimmed = Attribute("a", sex, missing=2, other=3, trim=True)
    domain = Domain((trimmed, Attribute("b", sex, missing=2, other=3), Attribute("c", Integers(0, 9), trim=True)))
    rows = [(" f", " f", " 3"), ("m  ", "m", "4 "), (" m m ", "f", "5"), ("   ", "f", "x"), ("F", "f", "na")]
    columns = dict.fromkeys("abc", "VARCHAR")
    with table(form, tmp_path, columns, rows) as source, open_table(source, domain) as engine:
        counts = found(engine.counts([("a", "b", "c")])[0])
        assert counts == {(0, 3, 3): 1, (1, 1, 4): 1, (3, 0, 5): 1, (2, 0, 0): 1, (3, 0, 0): 1}
        reports = [(r.missing, r.unreadable, r.outside) for r in engine.dry_run()]
        assert reports == [(1, 0, 2), (0, 0, 1), (1, 1, 0)]
        assert [r.name for r in engine.dry_run({"c"})] == ["c"]


def test_truths(form, tmp_path):
    yes = [Attribute(name, Booleans(), missing=1, other=0) for name in "abcd"]
    words = ["true", "FALSE", "t", "F", "yes", "No", "1", "0", "maybe", None]
    numbers = [1, 0, 2, None, -1, 1, 1, 0, 0, 1]
    records = [
        (w, n, None if n is None else float(n), None if n is None else Decimal(n))
        for w, n in zip(words, numbers, strict=True)
    ]
    if form in ("csv", "pandas"):
        records = [(word, number, None, None) for word, number, _, _ in records]
    check(form, tmp_path, yes, ["VARCHAR", "INTEGER", "DOUBLE", "DECIMAL(4,1)"], records)

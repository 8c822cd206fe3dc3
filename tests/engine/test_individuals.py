from __future__ import annotations

import random

import pytest
from tests.engine.oracle import tally
from tests.engine.tables import found, table

from tetraodon.domain import Attribute, Categories, Domain, Integers
from tetraodon.engine import Individuals, open_table
from tetraodon.errors import PolicyError


@pytest.mark.parametrize("given", [("", 1), ("key", 0), ("key", True), ("key", 1.5), (None, 2), (None, 1, True)])
def test_what_makes_no_sense_is_refused(given):
    with pytest.raises(PolicyError):
        Individuals(*given)


def test_every_row_is_somebody_else_by_default():
    assert Individuals() == Individuals(None, 1, cut=False)


@pytest.mark.parametrize(("at_most", "cut"), [(1, True), (2, True), (5, True), (10, False), (13, False)])
def test_at_most_k_rows_per_individual(form, at_most, cut, tmp_path):
    age = Attribute("age", Integers(18, 65), missing=3)
    sex = Attribute("sex", Categories(("f", "m", "x")), missing=2, other=2)
    domain = Domain((age, sex))
    draw = random.Random(at_most)
    keys = [draw.choice(["ann", "bob", "Ann", "cec", None]) for _ in range(60)]
    records = [(draw.choice([None, 20, 30, 99]), draw.choice(["f", "m", "?"])) for _ in keys]
    seen = set()
    for turn in range(2):
        pairs = list(zip(keys, records, strict=True))
        draw.shuffle(pairs)
        (tmp_path / str(turn)).mkdir()
        columns = {"key": "VARCHAR", "age": "INTEGER", "sex": "VARCHAR"}
        rows, who = [(key, *record) for key, record in pairs], Individuals("key", at_most, cut)
        with table(form, tmp_path / str(turn), columns, rows) as source, open_table(source, domain, who) as engine:
            for group in (("age", "sex"), ("sex",), ()):
                counts = found(engine.counts([group])[0])
                assert counts == tally(records, domain, group, at_most, keys, cut)
                seen.add((group, tuple(sorted(counts.items()))))
            report = engine.dry_run()[-1]
        assert report.name == "key"
        assert report.missing == keys.count(None)
        more = [count for key in set(keys) - {None} if (count := keys.count(key)) > at_most]
        assert report.outside == sum(count - at_most if cut else count for count in more)
    assert len(seen) == 3

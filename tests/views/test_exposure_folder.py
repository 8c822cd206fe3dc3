"""A folder tells what it exposes, and `verify` plays the attack anew.

What a view exposes depends on its coins, which are seeded here: nothing can raise a false alarm.
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars
import pytest

import tetraodon as td
from tests.views.test_exposure import POLICY as TOWN
from tests.views.test_exposure import TABLE
from tetraodon.gate import release_transaction as permit
from tetraodon.noise.repeatable_coins import Dice
from tetraodon.releases.folder import read_manifest
from tetraodon.views.channel import CopyChannel
from tetraodon.views.exposure import BELIEF, _all_views, folder_exposure, shown, suspect
from tetraodon.views.folder import stated_plan
from tetraodon.views.series import Series
from tetraodon.views.tuple_files import cells_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("town")
    policy = td.load_policy(TOWN)
    with td.Ledger(place / "ledger.db") as book, pytest.MonkeyPatch.context() as patch:
        patch.setattr(permit, "system_coins", lambda: Dice(17))
        book.open("town", 100, policy.document)
        td.publish(policy, TABLE, ledger=book, accept_exposure=True, out=place / "view")
    return place / "view"


def test_what_is_told_is_what_is_found(folder: Path) -> None:
    manifest = read_manifest(folder, "view")
    found = folder_exposure(folder, stated_plan(manifest))
    assert found.document() == manifest["exposure"]
    assert found.new > 1000
    assert f"names {found.named:,} of its tuples" in (folder / "README.md").read_text("utf-8")
    assert f"names {found.named:,} of its tuples" in (folder / "report.html").read_text("utf-8")


def test_the_attacker_is_right_about_how_often_they_are(folder: Path) -> None:
    stated, domain = read_manifest(folder, "view")["exposure"], td.load_policy(TOWN).domain
    rows, people = (
        np.sort(cells_of(domain, frame.to_numpy())) for frame in (polars.read_parquet(folder / "tuples.parquet"), TABLE)
    )
    seen = shown([rows])
    named = seen.cells[suspect(domain, td.load_view(folder).channel, seen, records=len(people)).after >= BELIEF]
    assert len(named) == stated["named"]
    assert np.isin(named, people).mean() == pytest.approx(stated["right"], abs=0.02)


def test_a_smaller_exposure_than_there_is_is_found(folder: Path) -> None:
    manifest = read_manifest(folder, "view")
    whole = (folder / "view.json").read_text("utf-8")
    manifest["exposure"]["new"] = 0
    (folder / "view.json").write_text(json.dumps(manifest), encoding="utf-8")
    failed = [check.what for check in td.verify(folder) if not check.passed]
    (folder / "view.json").write_text(whole, encoding="utf-8")
    assert failed[0] == "the exposure is as stated"


def test_a_tuple_that_comes_back_is_favoured() -> None:
    copies = Series(CopyChannel(Fraction(1, 2), Fraction(1, 100)), CopyChannel(Fraction(1, 2), Fraction(1, 3)), 3)
    cells = [np.array(part, np.uint64) for part in ([7], [1, 2], [1, 2, 3])]
    channel, seen = _all_views(copies, 2, *cells)
    assert seen.cells.tolist() == [1, 2, 3, 7]
    assert seen.lift.tolist() == [2, 2, 0.5, 1]
    assert seen.here.tolist() == [True, True, False, True]
    assert float(channel.noise) == pytest.approx(1 - 0.99**2)
    assert float(channel.shown) == pytest.approx(1 - (0.99 * 0.5) ** 2)

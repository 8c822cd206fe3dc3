"""A folder tells what it exposes, and `verify` plays the attack anew."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import tetraodon as td
from tests.publishing.test_exposure_accepted import POLICY as TOWN
from tests.publishing.test_exposure_accepted import TABLE
from tetraodon.publishing.channel import CopyChannel
from tetraodon.publishing.folder import stated_plan
from tetraodon.publishing.folder_exposure import _all_views, folder_exposure
from tetraodon.publishing.series import Series
from tetraodon.publishing.view import read_manifest


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("town")
    policy = td.load_policy(TOWN)
    with td.Ledger(place / "ledger.db") as book:
        book.open("town", 100, policy.document)
        td.publish(policy, TABLE, ledger=book, accept_exposure=True, out=place / "view")
    return place / "view"


def test_what_is_told_is_what_is_found(folder: Path) -> None:
    manifest = read_manifest(folder)
    found = folder_exposure(folder, stated_plan(manifest))
    assert found.document() == manifest["exposure"]
    assert found.new > 1000
    assert f"names {found.named:,} of its tuples" in (folder / "README.md").read_text("utf-8")
    assert f"names {found.named:,} of its tuples" in (folder / "report.html").read_text("utf-8")


def test_the_attacker_is_right_about_how_often_they_are(folder: Path) -> None:
    """About 1,900 tuples are named; a share of their records is off by 0.04 with a chance below 1e-9."""
    manifest = read_manifest(folder)
    true = TABLE.unique().height
    assert 0.9 < manifest["exposure"]["right"] < 1
    assert manifest["exposure"]["new"] <= true * 1.2


def test_a_smaller_exposure_than_there_is_is_found(folder: Path) -> None:
    manifest = read_manifest(folder)
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

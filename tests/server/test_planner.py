"""Plans are remembered, refused as they are elsewhere, and not worked out without end."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.server.conftest import POLICY

from tetraodon.server.limited import Limits
from tetraodon.server.planner import MOST_REMEMBERED, Planner, Relayed
from tetraodon.server.refusal import Turned


def test_what_is_known_is_not_worked_out_again(tmp_path: Path) -> None:
    planner = Planner(str(tmp_path / "ledger.db"))
    first = planner.read(POLICY)
    planner._limits = Limits(1e-6, 256)  # whatever is worked out now is killed
    assert planner.read(POLICY) == first
    with pytest.raises(Turned, match="more time or memory"):
        planner.read(POLICY | {"dataset": "other"})
    with pytest.raises(Turned, match="more time or memory"):  # made-up rows are made under the same limits
        planner.made_up(POLICY, 10)
    for number in range(MOST_REMEMBERED + 3):
        planner._known[str(number)] = {}
    assert len(planner._known) > MOST_REMEMBERED


def test_a_refusal_is_told_as_the_same_document(tmp_path: Path) -> None:
    with pytest.raises(Relayed) as refused:
        Planner(str(tmp_path / "ledger.db")).read({"dataset": "d"})
    assert refused.value.status == 422
    assert refused.value.document()["type"] == "PolicyError"

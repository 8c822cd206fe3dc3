"""What is wrong with a file of cells is said, with its name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tetraodon as td
from tetraodon.errors import PolicyError
from tetraodon.policy.joint_graph import Regions

HEADER = "lon,county,lat"
CELLS = ["0,A,0", "1,A,0", "0,B,1", "1,A,1"]


def load(folder: Path, rows: list[str], **together: Any) -> td.Policy:
    (folder / "cells.csv").write_text("\n".join(rows))
    parts = {"over": "[lat, lon]", "cells": "cells.csv", **together}
    (folder / "p.yaml").write_text(
        "dataset: d\nattributes: {lat: {integer: [0, 1]}, lon: {integer: [0, 1]}}\nbudget: {epsilon: 1}\n"
        f"together: {{{', '.join(f'{key}: {value}' for key, value in parts.items() if value)}}}\n"
    )
    return td.load_policy(folder / "p.yaml")


def test_cells_are_read_in_any_order(tmp_path: Path) -> None:
    for rows in (CELLS, CELLS[::-1]):
        assert load(tmp_path, [HEADER, *rows]).graph.factors[0].graph == Regions((2, 2), (0, 0, 1, 0), ("A", "B"))


@pytest.mark.parametrize(
    ("rows", "together", "what"),
    [
        ([HEADER, *CELLS[1:]], {}, "1 of 4 cells are left out"),
        ([HEADER, *CELLS, CELLS[0]], {}, "listed twice"),
        ([HEADER, *CELLS[1:], "5,A,0"], {}, "cells.csv does not fit"),
        ([HEADER, *CELLS[1:], "x,A,0"], {}, "cells.csv does not fit"),
        (["lon,lat", "0,0"], {}, "one for the block"),
        (["lon,county,height", *CELLS], {}, "one for the block"),
        ([HEADER, *CELLS], {"cells": "other.csv"}, "cannot be read"),
        ([HEADER, *CELLS], {"cells": "../cells.csv"}, "outside the policy's folder"),
        ([HEADER, *CELLS], {"cells": "/cells.csv"}, "outside the policy's folder"),
        ([HEADER, *CELLS], {"blocks": "[[A, B], [A, B]]"}, "given twice"),
        ([HEADER, *CELLS], {"over": ""}, "in `over`"),
        ([HEADER, *(f"{cell[0]},{n},{cell[-1]}" for n, cell in enumerate(CELLS))], {}, "no two cells"),
        ([HEADER, *CELLS], {"metric": "l1", "within": "1"}, "cannot be combined"),
        ([HEADER, *CELLS], {"over": "[lat, lat]"}, "one for the block"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, rows: list[str], together: dict[str, str], what: str) -> None:
    with pytest.raises(PolicyError, match=what):
        load(tmp_path, rows, **together)

"""A comparison as text, as data and as a picture."""

from __future__ import annotations

import json
import math

from tests.releases.test_compare import policy

from tetraodon.releases.compare import compare


def test_text_data_and_chart() -> None:
    found = compare(policy(), theta=[0.5, "full"])
    text = str(found)
    assert text.startswith("item  theta  epsilon  comparison ")
    assert "Odds are those between 0 and 5 of x." in text
    assert json.loads(json.dumps(found.document()))["variants"][0]["theta"] == "0.5"
    import vl_convert

    assert vl_convert.vegalite_to_svg(found.chart()).startswith("<svg")


def test_odds_beyond_all_numbers_are_not_written_as_numbers() -> None:
    far = compare(policy(), theta=[0.5], epsilon=[100], pair=(0, 50)).variants[0]
    assert far.odds == math.inf
    assert far.document()["odds"] is None

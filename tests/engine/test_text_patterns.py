from __future__ import annotations

import re

import pytest

from tetraodon.engine.expressions import DAY, INSTANT, WHOLE, number_pattern


@pytest.mark.parametrize("text", ["1", "-1.5", "+.5", "5.", "1e-3", " 7\t"])
def test_numbers(text):
    assert re.fullmatch(number_pattern("."), text)
    assert re.fullmatch(number_pattern(","), text.replace(".", ","))
    assert re.fullmatch(number_pattern(".,"), text)


@pytest.mark.parametrize("text", ["", ".", "1_0", "0x1", "nan", "inf", "1.2.3", "1,2", "e5", "1 2", "1\n", "١"])
def test_not_numbers(text):
    assert not re.fullmatch(number_pattern("."), text)
    assert not re.fullmatch(WHOLE, text)


def test_dates():
    for text in ("2020-01-01", "2020-01-01 10:00", "2020-01-01T10:00:00.5"):
        assert re.fullmatch(DAY, text)
        assert not re.fullmatch(INSTANT, text)
    for text in ("2020-01-01T10:00:00Z", "2020-01-01 10:00:00.25+05:30", "2020-01-01 10:00:00-05"):
        assert re.fullmatch(INSTANT, text)
        assert not re.fullmatch(DAY, text)
    for text in ("0001-01-01", "0010-12-31", "0300-06-30", "4000-10-10 23:59:59"):
        assert re.fullmatch(DAY, text)
    impossible = ("0000-01-01", "2020-00-01", "2020-13-01", "2020-01-00", "2020-01-32", "2020-01-01 24:00")
    impossible += ("2020-01-01 10:60", "2020-01-01T10:00:60Z", "2020-01-01T10:00:00+24:00", "2020-01-01T10:00:00+01:60")
    for text in ("2020-1-1", "20200101", "01/02/2020", " 2020-01-01", *impossible):
        assert not re.fullmatch(f"{DAY}|{INSTANT}", text)

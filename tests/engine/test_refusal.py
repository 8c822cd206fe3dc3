from __future__ import annotations

from tetraodon.engine import DataRefusal


def test_the_refusal_keeps_its_type_when_it_is_placed():
    assert type(DataRefusal("x", fix="y").at("z")) is DataRefusal

"""Bodies: nothing but what is known, amounts that are numbers, texts that end."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from tetraodon.web.api import AskedItems, Body, NewAllotment, NewRequest, NewToken


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (AskedItems, {"items": []}),
        (AskedItems, {"items": [{}], "epsilon": "many"}),
        (AskedItems, {"items": [{}], "epsilon": True}),
        (AskedItems, {"items": [{}], "unknown": 1}),
        (NewRequest, {"items": [{}], "purpose": ""}),
        (NewAllotment, {"amount": "1", "expires": "tomorrow"}),
        (NewAllotment, {"amount": float("nan")}),
        (NewToken, {"label": "a\nb", "scopes": ["read"]}),
        (NewToken, {"label": "a", "scopes": ["everything"]}),
        (NewToken, {"label": "a", "scopes": ["read"], "days": 10_000}),
    ],
    ids=str,
)
def test_bodies_that_are_refused(kind: type[Body], said: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        kind.model_validate(said)


def test_amounts_stay_as_they_were_written() -> None:
    assert AskedItems.model_validate({"items": [{"a": 1}], "epsilon": "1/3"}).document()["epsilon"] == "1/3"

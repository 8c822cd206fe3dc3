"""Every form of table, for the tests that are for all of them."""

from __future__ import annotations

import pytest
from tests.engine.tables import FORMS
from tests.services import forms


@pytest.fixture(params=forms(*FORMS))
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)

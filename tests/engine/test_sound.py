from __future__ import annotations

import numpy as np
import pytest

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.engine import Counts, DataRefusal
from tetraodon.engine.sound import require_sound

DOMAIN = Domain((Attribute("a", Integers(0, 2)),))


@pytest.mark.parametrize(("code", "count"), [(3, 1), (-1, 1)])
def test_what_cannot_be_is_refused(code, count):
    with pytest.raises(DataRefusal):
        require_sound(Counts(("a",), np.array([[code]]), np.array([count])), DOMAIN)

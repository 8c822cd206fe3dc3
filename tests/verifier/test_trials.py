"""The verifier and the package agree on random policies, and the page says what is covered."""

from __future__ import annotations

import pytest
from scripts import verifier_covered
from scripts.verifier_trials import run


@pytest.mark.parametrize("seed", [11, 12])
def test_certificates_of_random_policies_are_never_below_a_pair(seed: int) -> None:
    said = run(30, seed, show=False)
    assert said["FAILED"] == 0
    assert said["equal"] + said["at most"] > 4 * (said["unproved"] + said["not computed"])


def test_the_page_lists_what_is_covered() -> None:
    assert verifier_covered.PAGE.read_text("utf-8") == verifier_covered.page()

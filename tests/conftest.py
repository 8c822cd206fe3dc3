"""What holds for all tests: none fails for being slow, a file's tests share a process, what is long begins first."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

GROUP = "xdist_group"
LONG = (
    "wheel",
    "spark",
    "tests/test_audit.py",
    "browser",
    "tests/test_fuzz.py",
    "tests/test_every_mechanism_verified.py",
    "tests/test_docs.py",
    "tests/test_killed_lines.py",
    "tests/releasing/test_coverage.py",
    "tests/certificate/known/test_largest_push.py",
    "tests/releasing/test_rows_per_person.py",
    "tests/releasing/test_ask.py",
)
"""Services and files whose tests take longest together. A name that is missing here only costs time."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With several processes: a file's tests go to one of them, so that what they share is made once.

    Why   handing out thousands of tests one by one takes long, and whatever begins last is waited for.
    """
    if not hasattr(config, "workerinput"):
        return
    for item in items:
        if item.get_closest_marker(GROUP) is None:
            item.add_marker(pytest.mark.xdist_group(item.nodeid.split("::")[0]))
    groups = {group: place for place, group in enumerate(LONG)}
    items.sort(key=lambda item: groups.get(_group(item), len(LONG)))


def _group(item: pytest.Item) -> str:
    mark = item.get_closest_marker(GROUP)
    assert mark is not None
    return str(mark.args[0])

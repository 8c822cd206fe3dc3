"""What holds for all tests: a file's tests share a process, what is long begins first, hanging is a failure.

Hypothesis tries the same examples in every run; `TETRAODON_EXAMPLES=searching` looks for others.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from scripts.services import BROWSER_FLAGS, chromium
from xdist.scheduler import LoadScopeScheduling

settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.register_profile("searching", settings.get_profile("patient"), derandomize=False)
settings.load_profile(os.environ.get("TETRAODON_EXAMPLES", "patient"))

# A shell lets what it starts in the background ignore Ctrl-C, and nohup what it starts ignore a hang-up. So would the
# processes that tests start, and stop by these signals.
for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)

LONG = (
    "spark",
    "tests/test_wheel.py",
    "tests/test_audit.py",
    "tests/report/test_in_browser.py",
    "tests/test_fuzz.py",
    "tests/test_every_mechanism_verified.py",
    "tests/test_docs.py",
    "tests/test_killed_lines.py",
    "tests/releases/test_coverage.py",
    "tests/certificate/known/test_largest_push.py",
    "tests/releases/test_rows_per_person.py",
    "tests/releases/test_ask.py",
)
"""Services and files whose tests take longest together. A name that is missing here only costs time."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With several processes, what is long begins first: whatever begins last is waited for."""
    if hasattr(config, "workerinput"):
        places = {group: place for place, group in enumerate(LONG)}
        items.sort(key=lambda item: places.get(group_of(item.nodeid), len(LONG)))


def group_of(nodeid: str) -> str:
    """The tests that share a process: those of a file, and all that need Spark, whose start takes longest."""
    return "spark" if "spark" in nodeid else nodeid.split("::")[0]


class ByGroup(LoadScopeScheduling):
    """Hands out whole groups. The marks of xdist for this do nothing with pytest 9, which works out ids anew."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:  # noqa: ARG001 - the hook's own parameters
    """One process more than there are cores: a quarter of the time is waiting for browsers, services and clocks."""
    return (os.cpu_count() or 1) + 1


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByGroup:
    return ByGroup(config, log)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, ended with the module: while it runs a loop of events does, which other tests do not expect."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=chromium(), args=list(BROWSER_FLAGS))
        yield opened
        opened.close()

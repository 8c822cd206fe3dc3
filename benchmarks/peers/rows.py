"""Rows of a comparison: a ratio to the reference of the same run, how sure it is, its spread and its parts."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.peers.environments import Done, Missing, work

OURS = "tetraodon"
Row = dict[str, Any]
SURE = 1.96
"""Standard errors to each side of a mean that hold the truth with a probability of 95%."""


def all_of(task: str, peers: list[str], **given: Any) -> dict[str, Done | Missing]:
    return {peer: work(peer, task, **given) for peer in peers}


def repeated(run: Callable[[], Done | Missing], repeats: int) -> list[Done] | Missing:
    found: list[Done] = []
    for _ in range(repeats):
        done = run()
        if isinstance(done, Missing):
            return done
        found.append(done)
    return found


def compared(
    what: str, runs: dict[str, Done | Missing], reference: str, figures: Callable[[Done], list[float]], better: str
) -> Iterator[Row]:
    numbers = {peer: done if isinstance(done, Missing) else figures(done) for peer, done in runs.items()}
    versions = {peer: done.answer["version"] for peer, done in runs.items() if isinstance(done, Done)}
    yield from ratios(what, numbers, reference, versions, better)


def compared_runs(
    what: str, runs: dict[str, list[Done] | Missing], reference: str, figure: Callable[[Done], float]
) -> Iterator[Row]:
    numbers = {
        peer: done if isinstance(done, Missing) else [figure(one) for one in done] for peer, done in runs.items()
    }
    versions = {peer: done[0].answer["version"] for peer, done in runs.items() if not isinstance(done, Missing)}
    yield from ratios(what, numbers, reference, versions)


def ratios(
    what: str,
    numbers: dict[str, list[float] | Missing],
    reference: str,
    versions: dict[str, str],
    better: str = "lower",
) -> Iterator[Row]:
    base = numbers[reference]
    assert not isinstance(base, Missing), base
    middle = statistics.mean(base) if "error" in what else statistics.median(base)
    for peer, found in numbers.items():
        each = found if isinstance(found, Missing) else [one / middle for one in found]
        yield row_of(what, peer, each, versions, better, reference=reference)


def absolute(what: str, errors: dict[str, list[float] | Missing], versions: dict[str, str]) -> Iterator[Row]:
    """Ratios to ours, with the errors themselves beside; ranks to half a record, where ours err less."""
    ours = errors[OURS]
    assert not isinstance(ours, Missing)
    base = max(statistics.mean(ours), 0.5) if "rank" in what else statistics.mean(ours)
    for peer, found in errors.items():
        each = found if isinstance(found, Missing) else [one / base for one in found]
        more = {} if isinstance(found, Missing) else {"error": statistics.mean(found)}
        yield row_of(f"{what}, over ours", peer, each, versions, **more)


def row_of(
    what: str, peer: str, ratios: list[float] | Missing, versions: dict[str, str], better: str = "lower", **more: Any
) -> Row:
    """One row; `sure` is half of the interval that holds the mean with a probability of 95%, if draws are normal."""
    if isinstance(ratios, Missing):
        return {"what": what, "who": peer, "ratio": None, "why": ratios.why, "better": better}
    mean = "error" in what or "objective" in what
    sure = SURE * statistics.stdev(ratios) / len(ratios) ** 0.5 if mean and len(ratios) > 1 else None
    return {
        "what": what,
        "who": peer,
        "version": versions.get(peer),
        "ratio": statistics.mean(ratios) if mean else statistics.median(ratios),
        **({} if sure is None else {"sure": sure}),
        "least": min(ratios),
        "most": max(ratios),
        "repeats": len(ratios),
        "better": better,
        **more,
    }

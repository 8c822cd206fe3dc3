"""The theorems of [HMD14] about known counts as a table, every cell of it computed.

`python -m tests.theory.theorem_table` prints it, and `test_theorem_table` holds docs/known-counts.md to it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from tests.known_worlds import (
    Case,
    line,
    one_at_a_time,
    printed_8_2,
    printed_8_3,
    printed_8_5,
    printed_8_6,
    random_case,
    whole_histogram,
)
from tests.theory.closed_forms import (
    Price,
    from_disjoint_rectangles,
    from_one_marginal,
    from_policy_graph,
    from_the_number_of_counts,
)
from tetraodon.certificate import oracle
from tetraodon.certificate.known.push import largest_push
from tetraodon.errors import PolicyError, Refused
from tetraodon.policy.known import CountWhere, Known, Marginal, Rectangle
from tetraodon.policy.secret_graph import SecretGraph, complete_graph

CASES = 200
Form = Callable[[SecretGraph, tuple[Known, ...]], Price]


@dataclass(frozen=True)
class Row:
    theorem: str
    printed: str
    counterexample: str
    used: str
    passed: int

    @property
    def text(self) -> str:
        return f"| {self.theorem} | {self.printed} | {self.counterexample} | {self.used} | {self.passed} |"


HEADER = (
    "| theorem | as printed | counterexample: truth, printed | what we use, and when | oracle cases passed |\n"
    "| --- | --- | --- | --- | --- |"
)


def at(case: Case) -> int:
    near = oracle.changes(oracle.world(case.graph, case.known, case.n))
    return int(oracle.largest(near, whole_histogram(case)[0][0], case.graph.domain))


def broken(case: Case, printed: int | None, words: str) -> str:
    truth = at(case)
    assert printed is not None
    assert truth > printed
    return f"{words}: {truth}, {printed}"


def passed(form: Form, cases: Callable[[random.Random], Case]) -> int:
    """How many random policies on which a form answers and is not below the oracle; it must be none below."""
    rng, good = random.Random(2014), 0
    while good < CASES:
        case = cases(rng)
        try:
            price = form(case.graph, case.known)
        except (Refused, PolicyError):
            continue
        truth = at(case)
        assert truth <= price.value
        assert not price.exact or price.value == largest_push(case.graph, case.known, whole_histogram(case)).value
        good += 1
    return good


def present(rng: random.Random) -> Case:
    while True:
        case = random_case(rng)
        if not case.graph.absent:
            return Case(case.graph, case.known, min(case.n, 3))


def one_marginal(rng: random.Random) -> Case:
    case = present(rng)
    return Case(case.graph, (Known(Marginal((rng.choice(case.graph.domain.names),))),), case.n)


def one_marginal_complete(rng: random.Random) -> Case:
    case = one_marginal(rng)
    return Case(complete_graph(case.graph), case.known, case.n)


def two_ranges(rng: random.Random) -> Case:
    ends = sorted(rng.sample(range(6), 4))
    known = (Known(Rectangle((("v", ends[0], ends[1]),))), Known(Rectangle((("v", ends[2], ends[3]),))))
    return Case(line(6, theta=rng.randint(1, 3)).graph, known, 3)


def rows() -> list[Row]:
    chain = line(5, "v in (0, 1)", "v in (1, 2)")
    half = line(4, "v in (2, 3)", theta=3)
    margins = one_at_a_time((2, 2, 2), Known(Marginal(("a1",))), Known(Marginal(("a2",))))
    ranges = line(6, "v between 0 and 1", "v between 3 and 4")
    pairs = one_at_a_time((2, 2, 2), Known(CountWhere("a1 = 1")), Known(CountWhere("a2 = 1")), n=4)
    return [
        Row(
            "8.2",
            "S <= 2 max(alpha, xi), Q sparse for G",
            broken(chain, printed_8_2(chain), "line 0..4, theta 1, known {0,1} and {1,2}"),
            "2 max(alpha, xi) of the policy graph of the complete graph, if Q is sparse for that",
            passed(from_policy_graph, present),
        ),
        Row(
            "8.3",
            "S <= 2 max(#Q, 1), Q sparse for G",
            broken(half, printed_8_3(half), "four values, all secret, known {2,3}")
            + "; "
            + broken(pairs, printed_8_3(pairs), "{0,1}^3, one attribute at a time, known A1=1 and A2=1"),
            "2 (#Q + 1), or 2 max(#Q, 1) for a partition, if Q is sparse for the complete graph",
            passed(from_the_number_of_counts, present),
        ),
        Row(
            "8.4",
            "S = 2 size(C), one marginal, all secret",
            "none, but for other attributes with a single value (then 0)",
            "as printed, if another attribute has two values",
            passed(from_one_marginal, one_marginal_complete),
        ),
        Row(
            "8.5",
            "S = 2 max size(C), disjoint marginals, one attribute at a time",
            broken(margins, printed_8_5(margins), "{0,1}^3, marginals of A1 and of A2 known"),
            "2 size(C) for one marginal and any graph, if another attribute has two values and a secret changes C",
            passed(from_one_marginal, one_marginal),
        ),
        Row(
            "8.6",
            "S <= 2 (largest component + 1), disjoint ranges",
            broken(ranges, printed_8_6([(0, 1), (3, 4)], 1), "positions 0..5, theta 1, known [0,1] and [3,4]"),
            "2 (p + 1) for p disjoint rectangles and any graph",
            passed(from_disjoint_rectangles, two_ranges),
        ),
    ]


def table() -> str:
    return "\n".join([HEADER, *(row.text for row in rows())])


if __name__ == "__main__":
    print(table())

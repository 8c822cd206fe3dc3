"""Numbers and tables that the studio shows of a policy: odds, errors, simulations, beliefs, locked cells, attacks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from tetraodon.attacks.attack import Attack
from tetraodon.attacks.gallery import find
from tetraodon.domain import Domain
from tetraodon.errors import PolicyError, TetraodonError
from tetraodon.exact.rational import decimal_text, rational
from tetraodon.policy.attackers import Chain, DependentGroups
from tetraodon.policy.explain import chance, fact_in_words, odds, times
from tetraodon.policy.known import Known, known_query
from tetraodon.policy.policy import Policy
from tetraodon.pufferfish.meaning import choose_epsilon
from tetraodon.query.linear import Split
from tetraodon.releases.answer import Answer
from tetraodon.releases.least_epsilon import driven_by, least_plan, wanted_of
from tetraodon.releases.plan import Plan
from tetraodon.releases.planning import error_in_words
from tetraodon.releases.report import value_column
from tetraodon.releases.simulated import simulate
from tetraodon.web.policy_editor import held_of, plan_of
from tetraodon.wording import listing, shown_number

# -- figures ---------------------------------------------------------------------------------------

MOST_POINTS = 300
"""How many numbers of an answer are drawn."""


def figures(text: str, folder: Path = Path()) -> dict[str, Any]:
    """Odds and guesses of one step, and the error of every item with that of plain DP."""
    for problem in held_of(text, folder).problems:
        if problem.path[:1] == ("budget",):  # an epsilon that was filled in would be taken for the file's
            return {"items": [], "problem": f"{problem.what}. Fix: {problem.fix}.", "epsilon": None}
    found = plan_of(text, folder)
    if found is None or isinstance(found, TetraodonError):
        return {"items": [], "problem": "" if found is None else str(found), "epsilon": None}
    policy = found.policy
    return {
        "problem": "",
        "epsilon": decimal_text(policy.epsilon),
        "odds": times(odds(policy.epsilon, 1)),
        "guessers": guessers(policy.epsilon),
        "items": [
            {
                "name": item.name,
                "asked": item.item.asked,
                "error": item.expected_error,
                "plain": item.baseline_error,
                "told": error_in_words(item.expected_error, item.item.query.unit(policy.domain)),
                "told_plain": error_in_words(item.baseline_error, ""),
            }
            for item in found
        ],
    }


def guessers(epsilon: Fraction) -> int:
    """Of a hundred people who guess between two values one step apart, how many can be right at most.

    >>> guessers(Fraction(1))
    74
    """
    return math.ceil(100 * chance(epsilon, 1))


def simulated(plan: Plan, shape: str, n: int) -> dict[str, Any]:
    """Three simulated releases and the truth of their synthetic records, as numbers to draw."""
    found = simulate(plan, shape, n)
    items = []
    for name in found.truth.answers:
        drawn = [_numbers(one[name]) for one in (found.truth, *found.releases)]
        every = max(1, -(-len(drawn[0]) // MOST_POINTS))
        truth, *releases = (numbers[::every] for numbers in drawn)
        items.append({"name": name, "truth": truth, "releases": releases})
    return {"people": n, "shape": shape, "items": items}


def _numbers(answer: Answer) -> list[float]:
    """What is drawn of an answer: its numbers; of histograms and running counts the table, which needs no interval."""
    values = answer.values
    if values is None or answer.kind not in ("histogram", "cdf"):
        return [float(number) for number in answer.columns[value_column(answer.columns)]]
    longest = int(np.argmax(values.shape))
    along = np.moveaxis(values, longest, -1)  # one line for each group, one behind the other
    drawn = np.cumsum(along, axis=-1) if answer.kind == "cdf" else along
    return [float(number) for number in drawn.ravel()]


# -- how much may be learnt, and how much the decision needs ---------------------------------------

_DOWN = Context(prec=3, rounding=ROUND_FLOOR)


@dataclass(frozen=True, slots=True)
class BeliefAllowed:
    """The most that a belief may grow, between values some steps apart, after a number of releases.

    Why  odds move by at most e^(epsilon * steps) in each release, so that epsilon * steps * releases = logit after -
         logit before is the most that keeps to it.

    >>> BeliefAllowed(Fraction(1, 10), Fraction(1, 4), 2, 1).allowed_text
    '0.549'
    """

    before: Fraction
    after: Fraction
    steps: int = 1
    releases: int = 1

    def __post_init__(self) -> None:
        if not 0 < self.before < self.after < 1:
            raise PolicyError(
                "a belief does not grow from above 0 to below 100%", fix="write two shares, the second one larger"
            )
        if self.steps < 1 or self.releases < 1:
            raise PolicyError("steps and releases are counted from one", fix="write 1 or more")

    @classmethod
    def read(cls, before: str, after: str, steps: str, releases: str) -> BeliefAllowed:
        """What a form says: beliefs in percent, and whole numbers."""
        counts = [steps or "1", releases or "1"]
        if not all(count.isascii() and count.isdigit() and len(count) < 7 for count in counts):
            raise PolicyError("steps and releases are whole numbers", fix="write numbers such as 1 or 4")
        low, high = (rational(share, name="a belief") / 100 for share in (before, after))
        return cls(low, high, *(int(count) for count in counts))

    @property
    def allowed(self) -> Decimal:
        """The most epsilon of one release, rounded down to three digits."""
        most = choose_epsilon(prior=self.before, posterior=self.after)
        return _DOWN.divide(Decimal(most.numerator), Decimal(most.denominator * self.steps * self.releases))

    @property
    def allowed_text(self) -> str:
        return decimal_text(Fraction(self.allowed))

    def __str__(self) -> str:
        """The reason that is left in the file."""
        before, after = (f"{decimal_text(100 * share)}%" for share in (self.before, self.after))
        return (
            f"belief may grow from {before} to {after} between values {self.steps} step(s) apart, "
            f"after {self.releases} such release(s)"
        )


@lru_cache(maxsize=32)
def needed(text: str, folder: Path = Path()) -> dict[str, Any]:
    """The least epsilon that keeps every `error:` of a file, which items need it, and what the file allows."""
    held = held_of(text, folder)
    policy = held.policy
    if policy is None or held.left_out:
        return {"problem": "The file is not finished.", "needed": None}
    if not any(item.error for item in policy.items):
        return {"problem": "", "needed": None}
    try:
        wanted = wanted_of(policy)
        plan = least_plan(policy, wanted)
    except TetraodonError as error:
        return {"problem": str(error), "needed": None}
    return {
        "problem": "",
        "needed": decimal_text(plan.policy.epsilon),
        "allowed": decimal_text(policy.epsilon),
        "enough": plan.policy.epsilon <= policy.epsilon,
        "driven": driven_by(plan, wanted),
    }


# -- known figures, households and attacks ---------------------------------------------------------

MOST_ROWS, MOST_COLUMNS = 12, 8
"""How much of a known table is drawn."""


@dataclass(frozen=True, slots=True)
class LockedCells:
    """A known figure, or a table of them: what is drawn, and how many cells there are in all.

    A cell holds its figure where the file says it, and is empty where it does not.
    """

    sentence: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    cells: int

    @property
    def left(self) -> int:
        """How many cells are not drawn."""
        return self.cells - sum(len(cells) for _, cells in self.rows)


def locked_cells(known: Known, domain: Domain) -> LockedCells:
    """The cells of a known figure. Tables by several columns have the last one along the top."""
    splits = known_query(known, domain).by
    sizes = [split.size(domain) for split in splits] or [1]
    total, across = int(np.prod(sizes, dtype=object)), sizes[-1]
    heads = [_label(splits[-1], code, domain) for code in range(min(across, MOST_COLUMNS))] if splits else [""]
    rows = []
    for row in range(min(total // across, MOST_ROWS)):
        places = np.unravel_index(row, sizes[:-1]) if len(sizes) > 1 else ()
        name = [_label(split, int(code), domain) for split, code in zip(splits[:-1], places, strict=True)]
        figures = [
            "" if known.answers is None else f"{known.answers[row * across + column]:,}" for column in range(len(heads))
        ]
        rows.append((listing(name) if name else "records", tuple(figures)))
    return LockedCells(fact_in_words(known.fact, domain), tuple(heads), tuple(rows), total)


def _label(split: Split, code: int, domain: Domain) -> str:
    return split.labels[code] if split.labels else domain[split.name].text(code)


def fitting_attacks(policy: Policy | None) -> list[Attack]:
    """The attacks of the gallery that show what happens where a policy leaves out what it can say.

    Why  each is about a question of this page: what is known, and who depends on whom; which one also depends on what
         the file says so far.
    """
    dependent = "markov-chain" if policy is not None and isinstance(policy.attackers, Chain) else "all-or-none"
    return [find("known-sums"), find(dependent)]


def household(policy: Policy | None) -> int:
    """How many rows change together where people depend on each other; 1 where they do not."""
    if policy is not None and isinstance(policy.attackers, DependentGroups):
        return policy.attackers.at_most
    return 1


def played(name: str) -> dict[str, Any]:
    """An attack of the gallery, run: its story, and three bars on one scale."""
    attack = find(name)
    story = attack.run()
    bars = {
        "got by the attack": story.attacked,
        "allowed by the promise": story.allowed,
        "left with the defence": story.defended,
    }
    most = max(bars.values())
    return {
        "attack": attack,
        "story": story,
        "bars": [(word, shown_number(value), 100 * value / most) for word, value in bars.items()],
    }

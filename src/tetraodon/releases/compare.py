"""Expected errors under weaker and stronger promises, compared from plans alone.

Policies differ in `theta`, how far apart two values of one attribute can be and still be a secret, and in epsilon. At
equal epsilon a smaller theta protects less: two values that are d steps apart can be told apart by odds of up to
e^(epsilon d) ([HMD14] Eq. 9). So every policy is also tried at the epsilon that gives a stated pair of values
the same odds as the strongest policy gives it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

from tetraodon.certificate.certificate import Certificate
from tetraodon.domain import Attribute
from tetraodon.errors import QueryError, Refused, TetraodonError
from tetraodon.exact.rational import Number, decimal_text, rational
from tetraodon.exact.zcdp import epsilon_at, rho_at
from tetraodon.mechanism.strategy import Mechanism
from tetraodon.noise.laws import LAPLACE
from tetraodon.policy.attribute_graph import Everything, Public, Within, WithinShare
from tetraodon.policy.build import code_of
from tetraodon.policy.load import AnyPolicy, load_policy
from tetraodon.policy.policy import Policy
from tetraodon.policy.secret_graph import Factor
from tetraodon.releases.plan import Plan, better, plan

# -- comparison -------------------------------------------------------------------------------------
# What a comparison of promises found: errors against protection, as a table, as data and as a picture.


@dataclass(frozen=True, slots=True)
class Variant:
    """One item under one policy. `odds` bounds how far an observer's odds between the pair of values can move.

    `budget` is the epsilon that was asked for; `epsilon` is less where the guarantee was matched.
    """

    item: str
    theta: str
    epsilon: Fraction
    budget: Fraction
    matched: bool
    steps: float
    mechanism: Mechanism
    expected_error: float
    certificate: Certificate | None = field(default=None, repr=False)

    @property
    def odds(self) -> float:
        """With Gaussian noise, at the policy's delta: k steps lose k^2 times as much rho."""
        exponent = float(self.epsilon) * self.steps
        if self.certificate is not None and self.certificate.rho is not None and math.isfinite(self.steps):
            exponent = float(epsilon_at(self.certificate.rho * int(self.steps) ** 2, self.certificate.delta))
        return math.exp(exponent) if exponent < 700 else math.inf

    def document(self) -> dict[str, Any]:
        return {
            "item": self.item,
            "theta": self.theta,
            "epsilon": float(self.epsilon),
            "epsilon_exact": decimal_text(self.epsilon),
            "budget": float(self.budget),
            "comparison": "matched guarantee" if self.matched else "equal epsilon",
            "steps": self.steps if math.isfinite(self.steps) else None,
            "odds": self.odds if math.isfinite(self.odds) else None,
            "mechanism": self.mechanism.name,
            "expected_error": self.expected_error,
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """Expected error against protection, with what is worth saying in words."""

    attribute: str
    pair: tuple[str, str]
    variants: tuple[Variant, ...]
    remarks: tuple[str, ...]

    def __iter__(self) -> Iterator[Variant]:
        return iter(self.variants)

    def __len__(self) -> int:
        return len(self.variants)

    def document(self) -> dict[str, Any]:
        """Everything as plain data, for `--json` and for charts."""
        return {
            "attribute": self.attribute,
            "pair": list(self.pair),
            "variants": [variant.document() for variant in self.variants],
            "remarks": list(self.remarks),
        }

    def __str__(self) -> str:
        head = ("item", "theta", "epsilon", "comparison", "odds", "mechanism", "expected error")
        rows = [head]
        for variant in self.variants:
            how = "matched guarantee" if variant.matched else "equal epsilon"
            numbers = (f"{float(variant.epsilon):g}", how, f"{variant.odds:.3g}", variant.mechanism.name)
            rows.append((variant.item, variant.theta, *numbers, f"{variant.expected_error:.4g}"))
        widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
        lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        told = f"Odds are those between {self.pair[0]} and {self.pair[1]} of {self.attribute}."
        return "\n".join([*lines, told, *self.remarks])

    def chart(self) -> dict[str, Any]:
        """A Vega-Lite picture: error against theta, a line for each epsilon, both ways of comparing."""
        order = list(dict.fromkeys(variant.theta for variant in self.variants))
        return {
            "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
            "title": "Expected error against protection",
            "data": {"values": [variant.document() for variant in self.variants]},
            "facet": {"row": {"field": "item", "title": None}, "column": {"field": "comparison", "title": None}},
            "spec": {
                "width": 260,
                "height": 200,
                "mark": {"type": "line", "point": True, "tooltip": {"content": "data"}},
                "encoding": {
                    "x": {"field": "theta", "type": "ordinal", "sort": order, "title": f"theta of {self.attribute}"},
                    "y": {
                        "field": "expected_error",
                        "type": "quantitative",
                        "scale": {"type": "symlog"},
                        "title": "expected error",
                    },
                    "color": {"field": "budget", "type": "nominal", "title": "epsilon, if not matched"},
                },
            },
        }


# -- compare ----------------------------------------------------------------------------------------

FULL, NONE = "full", "none"
NO_GAIN = 0.99
"""A weaker policy buys nothing when it leaves more than this share of the error."""
MOST_PLANS = 200


def compare(
    policy: AnyPolicy,
    theta: Number | Sequence[Number] = (),
    epsilon: Number | Sequence[Number] = (),
    *,
    attribute: str | None = None,
    pair: tuple[object, object] | None = None,
) -> Comparison:
    """Plan a policy's items with other values of theta and epsilon, and say what each would buy.

    `theta` lists distances as in `within`, "full", or "none" where presence is secret; without one, the policy's own.
    `attribute` is the one they are about, if more than one could be meant. `pair` is the pair of values whose
    protection is matched; by default two values as far apart as the policy's own theta, or the two ends.
    """
    policy = load_policy(policy)
    if policy.names:
        raise Refused(
            "policies are compared by the errors of numbers, and this one asks for names too",
            fix="drop the items with `names` from a copy of the policy, and compare that",
            where="release",
        )
    if policy.graph.groups is not None:
        raise Refused(
            "policies are compared where everybody has the same secrets",
            fix="drop `groups` from a copy of the policy, and compare that",
            where="groups",
        )
    policy = replace(policy, once=False)  # steps add up in zCDP
    with _argument("attribute"):
        about = _attribute(policy, attribute)
    factor = policy.graph.factor_of(about.name)
    with _argument("theta"):
        graphs = [_graph(about, distance, absent=policy.presence == "secret") for distance in _each(theta)]
        if not graphs:
            relative = isinstance(factor.graph, WithinShare)
            if relative or not isinstance(factor.graph, Everything | Within | Public):
                raise QueryError(f"the secrets of {about.name} have no theta", fix="list distances to compare, or full")
            graphs = [factor.graph]
    reaches = sorted({_reach(graph) for graph in graphs})
    with _argument("epsilon"):
        budgets = sorted({rational(e, name="epsilon") for e in _each(epsilon)} or {policy.epsilon})
        if budgets[0] <= 0:
            raise QueryError("an epsilon is not positive", fix="list budgets above zero")
    if 2 * len(reaches) * len(budgets) > MOST_PLANS:
        raise Refused("there are too many policies to compare", fix="list fewer values", where="theta")
    with _argument("pair"):
        codes = _pair(about, factor, pair)
    changed = [_changed(policy, about, factor, reach) for reach in reaches]
    steps = [_steps(one, about, codes) for one in changed]
    found: list[Variant] = []
    for matched in (False, True):
        for budget in budgets:
            for one, reach, far in zip(changed, reaches, steps, strict=True):
                if matched and not math.isfinite(far):
                    continue
                price = budget * int(steps[-1]) / int(far) if matched else budget
                word = FULL if reach >= about.size - 1 else decimal_text(reach * about.step) if reach else NONE
                made = plan(one, epsilon=price)
                if matched and policy.delta:
                    made = _matched(one, made, budget, Fraction(int(steps[-1]), int(far)))
                price, whole = made.policy.epsilon, made.certificate
                found += [
                    Variant(i.name, word, price, budget, matched, far, i.strategy.mechanism, i.expected_error, whole)
                    for i in made
                ]
    order = {name: place for place, name in enumerate(item.name for item in policy.items)}
    found.sort(key=lambda variant: order[variant.item])
    pair_text = (about.text(codes[0]), about.text(codes[1]))
    touched = [i.name for i in policy.items if about.name in i.linear(policy.domain).names]
    return Comparison(about.name, pair_text, tuple(found), tuple(_remarks(found, touched, pair_text)))


@contextmanager
def _argument(name: str) -> Iterator[None]:
    """Which argument an error inside is about; on the command line, which option."""
    try:
        yield
    except TetraodonError as error:
        raise error.at(name) from None


def _each(numbers: Number | Sequence[Number]) -> Sequence[Number]:
    """One number, several, or several in a text as on the command line."""
    if isinstance(numbers, str):
        return [number.strip() for number in numbers.split(",")]
    return list(numbers) if isinstance(numbers, Iterable) else [numbers]


def _matched(policy: Policy, pure: Plan, budget: Fraction, ratio: Fraction) -> Plan:
    """The better of two plans that protect the pair alike: for pure losses epsilons are divided by the number of
    steps, for zCDP losses rho by its square.
    """
    if pure.certificate.rho is not None:
        pure = plan(policy, epsilon=pure.policy.epsilon, noise=LAPLACE)
    rho = rho_at(budget, policy.delta) * ratio**2
    return better(pure, plan(policy.with_rho(rho, policy.delta)))


def _changed(policy: Policy, about: Attribute, factor: Factor, reach: int) -> Policy:
    """The policy with another theta."""
    near = Within(about.size, reach) if reach else Public(about.size)
    graph = Everything(about.size) if reach >= about.size - 1 else near
    factors = tuple(Factor(factor.names, graph) if f == factor else f for f in policy.graph.factors)
    return replace(policy, graph=replace(policy.graph, factors=factors))


def _steps(policy: Policy, about: Attribute, codes: tuple[int, int]) -> float:
    """How many steps apart two records are that differ in the pair alone.

    With known counts only single steps are bounded: chains of steps may leave what is known ([HMD14] Eq. 9 is for
    policies without constraints).
    """
    place = policy.domain.position(about.name)
    start = [0] * len(policy.domain.names)
    ends = [policy.domain.value_of((*start[:place], code, *start[place + 1 :])) for code in codes]
    steps = policy.graph.distance(*ends)
    return math.inf if policy.graph.known and steps > 1 else steps


def _remarks(found: Sequence[Variant], touched: Sequence[str], pair: tuple[str, str]) -> Iterator[str]:
    """Every place where a weaker policy does not buy a smaller error than the next stronger one."""
    for weaker, stronger in pairwise(found):
        same = all(getattr(weaker, k) == getattr(stronger, k) for k in ("item", "budget", "matched"))
        if not same or weaker.item not in touched or weaker.expected_error <= NO_GAIN * stronger.expected_error:
            continue
        price = f"epsilon {decimal_text(weaker.budget)}"
        where = f"at odds between {pair[0]} and {pair[1]} matched to {price}" if weaker.matched else f"at {price}"
        yield (
            f"{weaker.item}: theta {weaker.theta} instead of {stronger.theta} buys nothing {where}: "
            f"the expected error is {weaker.expected_error:.4g}, not below {stronger.expected_error:.4g}."
        )


def _attribute(policy: Policy, name: str | None) -> Attribute:
    if name is not None:
        found = policy.domain[name]
        if not found.ordered or len(policy.graph.factor_of(name).names) > 1:
            raise QueryError(f"{name} has no theta of its own", fix="name an ordered attribute measured by itself")
        return found
    able = [f for f in policy.graph.factors if len(f.names) == 1 and policy.domain[f.names[0]].ordered]
    within = [f.names[0] for f in able if isinstance(f.graph, Within)]
    kinds = Everything | Public if policy.presence == "secret" else Everything
    asked = {n for item in policy.items for n in item.linear(policy.domain).names}
    meant = within or [f.names[0] for f in able if isinstance(f.graph, kinds) and f.names[0] in asked]
    if len(meant) != 1:
        raise QueryError(
            "it is not clear which attribute theta is about",
            fix=f"name one of: {', '.join(f.names[0] for f in able)}" if able else "declare an ordered attribute",
        )
    return policy.domain[meant[0]]


def _graph(attribute: Attribute, distance: Number, *, absent: bool) -> Everything | Within | Public:
    if isinstance(distance, str) and distance.strip() == FULL:
        return Everything(attribute.size)
    if isinstance(distance, str) and distance.strip() == NONE and absent:
        return Public(attribute.size)
    theta = rational(distance, name="theta")
    if theta < attribute.step:
        raise QueryError(
            "a theta reaches no other value", fix=f"list distances of at least {decimal_text(attribute.step)}, or full"
        )
    return Within(attribute.size, int(theta / attribute.step))


def _reach(graph: Everything | Within | Public) -> int:
    if isinstance(graph, Public):
        return 0
    return min(graph.reach, graph.size - 1) if isinstance(graph, Within) else graph.size - 1


def _pair(attribute: Attribute, factor: Factor, pair: tuple[object, object] | None) -> tuple[int, int]:
    if attribute.size < 2:
        raise QueryError(f"{attribute.name} has a single value", fix="name an attribute with several")
    if pair is None:
        graph = factor.graph
        return 0, (_reach(graph) if isinstance(graph, Everything | Within) else attribute.size - 1)
    first, second = (code_of(attribute, end) if isinstance(end, str) else attribute.code(end) for end in pair)
    if first == second:
        raise QueryError("the pair is one value twice", fix="name two different values")
    return first, second

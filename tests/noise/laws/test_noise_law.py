"""A law that nobody has worked out is refused by whoever would have to rely on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import tetraodon as td
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.errors import NoiseError, QueryError
from tetraodon.noise.laws import LAPLACE, LAWS, NEGLIGIBLE, NoiseLaw, law_from, law_named
from tetraodon.queries import histogram
from tetraodon.query.kinds import linear
from tetraodon.query.linear import Measurement
from tetraodon.releases.plan import plan, planned_item
from tetraodon.releases.proposals import Limit, limit_of

MADE_UP = NoiseLaw("uniform", "uniform on [-2, 2]")
TWO, SURE = Fraction(2), Fraction(95, 100)


@pytest.fixture(scope="module")
def policy() -> td.Policy:
    return td.load_policy(
        {
            "tetraodon": 1,
            "dataset": "d",
            "individuals": "one row each",
            "attributes": {"x": {"integer": [0, 4]}},
            "budget": {"epsilon": 1},
            "release": [{"name": "h", "histogram": "x"}],
        }
    )


def test_the_kernel_refuses_it_before_anything_else(policy: td.Policy) -> None:
    query = linear(histogram("x"), policy.domain)
    for rows in (1, 3):
        with pytest.raises(NoiseError, match=r"no known privacy loss.*Fix:"):
            certify_measurements(policy.graph, [Measurement(query, TWO, MADE_UP)], rows_per_person=rows)
    with pytest.raises(NoiseError, match="no known privacy loss"):  # even beside an answer that is refused anyway
        certify_measurements(policy.graph, [Measurement(query, Fraction(0)), Measurement(query, TWO, MADE_UP)])


def test_a_word_is_no_law(policy: td.Policy) -> None:
    query = linear(histogram("x"), policy.domain)
    for word in ("uniform on [-2, 2]", "laplace", "gaussian", None):
        with pytest.raises(QueryError, match="not a law"):
            Measurement(query, TWO, word)  # type: ignore[arg-type]


def test_the_budget_refuses_it(policy: td.Policy) -> None:
    limit = Limit(MADE_UP, Fraction(1))
    certificate = plan(policy).certificate
    uses: list[Callable[[], object]] = [
        lambda: limit_of(policy, MADE_UP),
        lambda: limit.loss(certificate),
        lambda: limit.scale(TWO, TWO),
        lambda: limit.factor(TWO, TWO),
        lambda: plan(policy, noise=MADE_UP),
    ]
    for use in uses:
        with pytest.raises(NoiseError, match="no known privacy loss"):
            use()


def test_variances_quantiles_and_draws_are_refused(policy: td.Policy) -> None:
    ones = np.ones(1)
    uses: list[Callable[[], object]] = [
        lambda: MADE_UP.variance(TWO),
        lambda: MADE_UP.smooth_variance(TWO),
        lambda: MADE_UP.quantile(TWO, SURE),
        lambda: MADE_UP.sum_quantile(TWO, 3, SURE),
        lambda: MADE_UP.reach(ones, ones, SURE),
        lambda: MADE_UP.draw(TWO, 1),
        lambda: MADE_UP.pmf(TWO, 0),
    ]
    for use in uses:
        with pytest.raises(NoiseError, match=r"no known .*Fix:"):
            use()
    item = plan(policy)["h"]
    with pytest.raises(NoiseError):
        planned_item(item.item, replace(item.strategy, noise=MADE_UP), TWO, policy)


def test_names_and_documents_are_those_of_the_table() -> None:
    for name, law in LAWS.items():
        assert law_named(name) is law_named(law) is law
        assert law_from(law.document(Fraction(1, 3))) == (Fraction(1, 3), law)
    assert law_from(None) == (Fraction(0), LAPLACE)
    with pytest.raises(NoiseError, match="did you mean 'laplace'"):
        law_named("laplas")
    for document in ({"law": "uniform on [-2, 2]", "scale": "2"}, {"law": "discrete laplace", "sigma": "2"}):
        with pytest.raises(NoiseError, match="unknown kind of noise"):
            law_from(document)


def test_every_law_of_the_table_has_worked_everything_out() -> None:
    ones = np.ones(1)
    for law in LAWS.values():
        assert law.rate(TWO) > 0
        assert law.variance(TWO) > 0
        assert law.sum_quantile(TWO, 3, SURE) > law.quantile(TWO, SURE) > 0
        assert law.reach(ones, ones, SURE)[0] > 0
        assert isinstance(law.currency.value, str)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_its_numbers_are_those_of_the_law(law: NoiseLaw) -> None:
    width = Fraction(7, 2)
    assert law.quantile(width, SURE) == law.sum_quantile(width, 1, SURE)
    variance = np.array([law.smooth_variance(width)])
    assert law.reach(variance, np.array([3.5]), SURE)[0] >= law.quantile(width, SURE)
    assert law.variance(width) <= law.smooth_variance(width)
    exact = 2 * sum(k**2 * law.pmf(Fraction(1, 3), k) for k in range(1, 60))
    assert law.variance(Fraction(1, 3)) == pytest.approx(exact, rel=1e-12)
    for scale in (Fraction(1, 10), Fraction(1, 1000), Fraction(1, 10**9)):  # least squares divide by it
        assert law.variance(scale) >= NEGLIGIBLE * law.smooth_variance(scale) > 0

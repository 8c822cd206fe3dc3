"""Tetraodon: say what is secret, what is known and who might attack; publish the rest with proof.

Names are fetched on first use, so that `import tetraodon` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tetraodon import noise
    from tetraodon.certificate import Certificate, Sensitivity, certify, oracle, sensitivity
    from tetraodon.domain import Attribute, Domain
    from tetraodon.errors import (
        BudgetExhausted,
        DomainError,
        LedgerError,
        NoiseError,
        PolicyError,
        QueryError,
        Refused,
        ReleaseError,
        TableError,
        TetraodonError,
    )
    from tetraodon.ledger import Ledger
    from tetraodon.mechanism.kmeans.estimator import PolicyKMeans
    from tetraodon.mechanism.kronecker import Kronecker
    from tetraodon.mechanism.optimised import strategy
    from tetraodon.policy.adversary import Adversary
    from tetraodon.policy.explain import explain
    from tetraodon.policy.load import load_policy
    from tetraodon.policy.policy import Policy
    from tetraodon.policy.secret_graph import ABSENT, SecretGraph
    from tetraodon.publishing.domain_count import domain_count
    from tetraodon.publishing.frapp import frapp
    from tetraodon.publishing.perturb import Perturbed, load_perturbed, perturb
    from tetraodon.publishing.perturbation import Perturbation, perturbation
    from tetraodon.publishing.run import publish
    from tetraodon.publishing.view import View, load_view
    from tetraodon.pufferfish import Channel, Definition, Secret, World, compose, optimal_mechanism, pairs, scenarios
    from tetraodon.questions import cdf, count, histogram, kmeans, mean, quantiles, ranges, rectangles, total
    from tetraodon.releasing.compare import compare
    from tetraodon.releasing.folder import load_release
    from tetraodon.releasing.least_epsilon import plan_for_error
    from tetraodon.releasing.plan import Plan, plan
    from tetraodon.releasing.release import Release
    from tetraodon.releasing.run import release
    from tetraodon.verifying import verify

__version__ = "0.1.0"

_HOMES = {
    "ABSENT": "tetraodon.policy.secret_graph",
    "Adversary": "tetraodon.policy.adversary",
    "Attribute": "tetraodon.domain",
    "BudgetExhausted": "tetraodon.errors",
    "Certificate": "tetraodon.certificate",
    "Channel": "tetraodon.pufferfish",
    "Definition": "tetraodon.pufferfish",
    "Domain": "tetraodon.domain",
    "DomainError": "tetraodon.errors",
    "Kronecker": "tetraodon.mechanism.kronecker",
    "Ledger": "tetraodon.ledger",
    "LedgerError": "tetraodon.errors",
    "NoiseError": "tetraodon.errors",
    "Perturbation": "tetraodon.publishing.perturbation",
    "Perturbed": "tetraodon.publishing.perturb",
    "Plan": "tetraodon.releasing.plan",
    "Policy": "tetraodon.policy.policy",
    "PolicyError": "tetraodon.errors",
    "PolicyKMeans": "tetraodon.mechanism.kmeans.estimator",
    "QueryError": "tetraodon.errors",
    "Refused": "tetraodon.errors",
    "Release": "tetraodon.releasing.release",
    "ReleaseError": "tetraodon.errors",
    "Secret": "tetraodon.pufferfish",
    "SecretGraph": "tetraodon.policy.secret_graph",
    "Sensitivity": "tetraodon.certificate",
    "TableError": "tetraodon.errors",
    "TetraodonError": "tetraodon.errors",
    "View": "tetraodon.publishing.view",
    "World": "tetraodon.pufferfish",
    "cdf": "tetraodon.questions",
    "certify": "tetraodon.certificate",
    "compare": "tetraodon.releasing.compare",
    "compose": "tetraodon.pufferfish",
    "count": "tetraodon.questions",
    "domain_count": "tetraodon.publishing.domain_count",
    "explain": "tetraodon.policy.explain",
    "frapp": "tetraodon.publishing.frapp",
    "histogram": "tetraodon.questions",
    "kmeans": "tetraodon.questions",
    "load_perturbed": "tetraodon.publishing.perturb",
    "load_policy": "tetraodon.policy.load",
    "load_release": "tetraodon.releasing.folder",
    "load_view": "tetraodon.publishing.view",
    "mean": "tetraodon.questions",
    "optimal_mechanism": "tetraodon.pufferfish",
    "pairs": "tetraodon.pufferfish",
    "perturb": "tetraodon.publishing.perturb",
    "perturbation": "tetraodon.publishing.perturbation",
    "plan": "tetraodon.releasing.plan",
    "plan_for_error": "tetraodon.releasing.least_epsilon",
    "publish": "tetraodon.publishing.run",
    "quantiles": "tetraodon.questions",
    "ranges": "tetraodon.questions",
    "rectangles": "tetraodon.questions",
    "release": "tetraodon.releasing.run",
    "scenarios": "tetraodon.pufferfish",
    "sensitivity": "tetraodon.certificate",
    "strategy": "tetraodon.mechanism.optimised",
    "total": "tetraodon.questions",
    "verify": "tetraodon.verifying",
}
_MODULES = {"noise": "tetraodon.noise", "oracle": "tetraodon.certificate.oracle"}

__all__ = [
    "ABSENT",
    "Adversary",
    "Attribute",
    "BudgetExhausted",
    "Certificate",
    "Channel",
    "Definition",
    "Domain",
    "DomainError",
    "Kronecker",
    "Ledger",
    "LedgerError",
    "NoiseError",
    "Perturbation",
    "Perturbed",
    "Plan",
    "Policy",
    "PolicyError",
    "PolicyKMeans",
    "QueryError",
    "Refused",
    "Release",
    "ReleaseError",
    "Secret",
    "SecretGraph",
    "Sensitivity",
    "TableError",
    "TetraodonError",
    "View",
    "World",
    "cdf",
    "certify",
    "compare",
    "compose",
    "count",
    "domain_count",
    "explain",
    "frapp",
    "histogram",
    "kmeans",
    "load_perturbed",
    "load_policy",
    "load_release",
    "load_view",
    "mean",
    "noise",
    "optimal_mechanism",
    "oracle",
    "pairs",
    "perturb",
    "perturbation",
    "plan",
    "plan_for_error",
    "publish",
    "quantiles",
    "ranges",
    "rectangles",
    "release",
    "scenarios",
    "sensitivity",
    "strategy",
    "total",
    "verify",
]


if not TYPE_CHECKING:  # hidden from the type check, so that a misspelt name is still found

    def __getattr__(name: str) -> object:
        if name in _MODULES:
            found: object = import_module(_MODULES[name])
        elif name in _HOMES:
            found = getattr(import_module(_HOMES[name]), name)
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *_HOMES, *_MODULES})

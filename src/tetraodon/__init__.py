"""Tetraodon: say what is secret, what is known and who might attack; publish the rest with proof.

Names are fetched on first use, so that `import tetraodon` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tetraodon import noise
    from tetraodon.certificate import Certificate, Sensitivity, certify
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
    from tetraodon.policy.explain import explain
    from tetraodon.policy.load import load_policy
    from tetraodon.policy.policy import Policy
    from tetraodon.policy.secret_graph import ABSENT, SecretGraph
    from tetraodon.releasing.compare import compare
    from tetraodon.releasing.folder import load_release
    from tetraodon.releasing.plan import Plan, plan, plan_for_error
    from tetraodon.releasing.release import Release
    from tetraodon.releasing.run import release
    from tetraodon.releasing.verify import verify
    from tetraodon.workload.query import cdf, count, histogram, mean, quantiles, ranges, total

__version__ = "0.1.0"

_HOMES = {
    "ABSENT": "tetraodon.policy.secret_graph",
    "Attribute": "tetraodon.domain",
    "BudgetExhausted": "tetraodon.errors",
    "Certificate": "tetraodon.certificate",
    "Domain": "tetraodon.domain",
    "DomainError": "tetraodon.errors",
    "Ledger": "tetraodon.ledger",
    "LedgerError": "tetraodon.errors",
    "NoiseError": "tetraodon.errors",
    "Plan": "tetraodon.releasing.plan",
    "Policy": "tetraodon.policy.policy",
    "PolicyError": "tetraodon.errors",
    "QueryError": "tetraodon.errors",
    "Refused": "tetraodon.errors",
    "Release": "tetraodon.releasing.release",
    "ReleaseError": "tetraodon.errors",
    "SecretGraph": "tetraodon.policy.secret_graph",
    "Sensitivity": "tetraodon.certificate",
    "TableError": "tetraodon.errors",
    "TetraodonError": "tetraodon.errors",
    "cdf": "tetraodon.workload.query",
    "certify": "tetraodon.certificate",
    "compare": "tetraodon.releasing.compare",
    "count": "tetraodon.workload.query",
    "explain": "tetraodon.policy.explain",
    "histogram": "tetraodon.workload.query",
    "load_policy": "tetraodon.policy.load",
    "load_release": "tetraodon.releasing.folder",
    "mean": "tetraodon.workload.query",
    "noise": "",
    "plan": "tetraodon.releasing.plan",
    "plan_for_error": "tetraodon.releasing.plan",
    "quantiles": "tetraodon.workload.query",
    "ranges": "tetraodon.workload.query",
    "release": "tetraodon.releasing.run",
    "total": "tetraodon.workload.query",
    "verify": "tetraodon.releasing.verify",
}

__all__ = [
    "ABSENT",
    "Attribute",
    "BudgetExhausted",
    "Certificate",
    "Domain",
    "DomainError",
    "Ledger",
    "LedgerError",
    "NoiseError",
    "Plan",
    "Policy",
    "PolicyError",
    "QueryError",
    "Refused",
    "Release",
    "ReleaseError",
    "SecretGraph",
    "Sensitivity",
    "TableError",
    "TetraodonError",
    "cdf",
    "certify",
    "compare",
    "count",
    "explain",
    "histogram",
    "load_policy",
    "load_release",
    "mean",
    "noise",
    "plan",
    "plan_for_error",
    "quantiles",
    "ranges",
    "release",
    "total",
    "verify",
]


if not TYPE_CHECKING:  # hidden from the type check, so that a misspelt name is still found

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        home = _HOMES[name]
        found = getattr(import_module(home), name) if home else import_module(f"{__name__}.{name}")
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        return sorted([*globals(), *_HOMES])

"""Tetraodon: say what is secret, what is known and who might attack; publish the rest with proof.

Names are fetched on first use, so that `import tetraodon` costs next to nothing. Queries are in `tetraodon.queries`,
errors in `tetraodon.errors`, definitions of privacy in `tetraodon.pufferfish`, attacks in `tetraodon.attacks`, what
programs need that write policy files in `tetraodon.editor`, and tools for research in `tetraodon.research`.
"""
# ruff: noqa: I001  (a name that is exported is imported as itself)

from typing import TYPE_CHECKING

from tetraodon.lazy_names import lazy_names, public_names

if TYPE_CHECKING:
    from tetraodon import (
        attacks as attacks,
        editor as editor,
        errors as errors,
        noise as noise,
        pufferfish as pufferfish,
        queries as queries,
        research as research,
    )
    from tetraodon.certificate import Certificate as Certificate, certify as certify, sensitivity as sensitivity
    from tetraodon.client import connect as connect
    from tetraodon.ledger import Ledger as Ledger
    from tetraodon.mechanism.kmeans.estimator import PolicyKMeans as PolicyKMeans
    from tetraodon.policy.draft import init as init
    from tetraodon.policy.explain import explain as explain
    from tetraodon.policy.load import load_policy as load_policy
    from tetraodon.policy.policy import Policy as Policy
    from tetraodon.releases.compare import compare as compare
    from tetraodon.releases.counting import check as check
    from tetraodon.releases.folder import load_release as load_release
    from tetraodon.releases.estimates import joint_errors as joint_errors
    from tetraodon.releases.least_epsilon import plan_for_error as plan_for_error
    from tetraodon.releases.plan import Plan as Plan, plan as plan
    from tetraodon.releases.release import Release as Release
    from tetraodon.releases.pricing import reprice as reprice
    from tetraodon.releases.run import release as release
    from tetraodon.releases.simulated import synthesize as synthesize
    from tetraodon.releases.verify import Verification as Verification
    from tetraodon.session import Session as Session
    from tetraodon.views.perturb import load_perturbed as load_perturbed, perturb as perturb
    from tetraodon.views.publish import publish as publish
    from tetraodon.views.verify import verify as verify
    from tetraodon.views.view import View as View, load_view as load_view

__version__ = "0.1.0"

_NAMES = {
    "tetraodon.attacks": "attacks",
    "tetraodon.certificate": "Certificate certify sensitivity",
    "tetraodon.client": "connect",
    "tetraodon.editor": "editor",
    "tetraodon.errors": "errors",
    "tetraodon.ledger": "Ledger",
    "tetraodon.mechanism.kmeans.estimator": "PolicyKMeans",
    "tetraodon.noise": "noise",
    "tetraodon.policy.draft": "init",
    "tetraodon.policy.explain": "explain",
    "tetraodon.policy.load": "load_policy",
    "tetraodon.policy.policy": "Policy",
    "tetraodon.pufferfish": "pufferfish",
    "tetraodon.queries": "queries",
    "tetraodon.releases.compare": "compare",
    "tetraodon.releases.counting": "check",
    "tetraodon.releases.folder": "load_release",
    "tetraodon.releases.estimates": "joint_errors",
    "tetraodon.releases.least_epsilon": "plan_for_error",
    "tetraodon.releases.plan": "Plan plan",
    "tetraodon.releases.release": "Release",
    "tetraodon.releases.pricing": "reprice",
    "tetraodon.releases.run": "release",
    "tetraodon.releases.simulated": "synthesize",
    "tetraodon.releases.verify": "Verification",
    "tetraodon.research": "research",
    "tetraodon.session": "Session",
    "tetraodon.views.perturb": "load_perturbed perturb",
    "tetraodon.views.publish": "publish",
    "tetraodon.views.verify": "verify",
    "tetraodon.views.view": "View load_view",
}
_MOVED = {
    "editor": "edit_policy parse_partial picture preview simulate",
    "errors": (
        "BudgetExhausted DataRefusal DomainError LedgerError NoiseError PolicyError QueryError Refused ReleaseError "
        "TableError TetraodonError"
    ),
    "pufferfish": "Channel Definition Secret World compose optimal_mechanism pairs scenarios",
    "queries": (
        "cdf correlation count covariance histogram kmeans mean mean_per_person median people proportion quantiles "
        "ranges ratio rectangles regression standard_deviation synthetic total total_per_person variance"
    ),
    "research": (
        "ABSENT Adversary Attribute Domain Perturbation SecretGraph Sensitivity domain_count frapp oracle perturbation"
    ),
}

__all__ = public_names(_NAMES)

if not TYPE_CHECKING:  # hidden from the type check, so that a misspelt name is still found
    __getattr__, __dir__ = lazy_names(__name__, _NAMES, _MOVED, globals())

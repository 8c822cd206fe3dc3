"""Tetraodon: say what is secret, what is known and who might attack; publish the rest with proof.

Names are fetched on first use, so that `import tetraodon` costs next to nothing. Definitions of privacy are in
`tetraodon.pufferfish`, tools for research in `tetraodon.research`.
"""
# ruff: noqa: I001  (a name that is exported is imported as itself)

from typing import TYPE_CHECKING

from tetraodon.lazy_names import lazy_names, public_names

if TYPE_CHECKING:
    from tetraodon import noise as noise, pufferfish as pufferfish, research as research
    from tetraodon.certificate import Certificate as Certificate, certify as certify, sensitivity as sensitivity
    from tetraodon.connecting import connect as connect
    from tetraodon.domain import Attribute as Attribute, Domain as Domain
    from tetraodon.errors import (
        BudgetExhausted as BudgetExhausted,
        Charged as Charged,
        DataRefusal as DataRefusal,
        DomainError as DomainError,
        LedgerError as LedgerError,
        NoiseError as NoiseError,
        Overtaken as Overtaken,
        PolicyError as PolicyError,
        QueryError as QueryError,
        Refused as Refused,
        ReleaseError as ReleaseError,
        TableError as TableError,
        TetraodonError as TetraodonError,
    )
    from tetraodon.ledger import Ledger as Ledger
    from tetraodon.mechanism.kmeans.estimator import PolicyKMeans as PolicyKMeans
    from tetraodon.policy.adversary import Adversary as Adversary
    from tetraodon.policy.draft import init as init
    from tetraodon.policy.edited import edited as edited
    from tetraodon.policy.explain import explain as explain
    from tetraodon.policy.held import hold as hold
    from tetraodon.policy.load import load_policy as load_policy
    from tetraodon.policy.policy import Policy as Policy
    from tetraodon.publishing.perturb import (
        Perturbed as Perturbed,
        load_perturbed as load_perturbed,
        perturb as perturb,
    )
    from tetraodon.publishing.publish import publish as publish
    from tetraodon.publishing.view import View as View, load_view as load_view
    from tetraodon.questions import (
        cdf as cdf,
        correlation as correlation,
        count as count,
        covariance as covariance,
        histogram as histogram,
        kmeans as kmeans,
        mean as mean,
        mean_per_person as mean_per_person,
        median as median,
        people as people,
        proportion as proportion,
        quantiles as quantiles,
        ranges as ranges,
        ratio as ratio,
        rectangles as rectangles,
        regression as regression,
        total as total,
        total_per_person as total_per_person,
        standard_deviation as standard_deviation,
        synthetic as synthetic,
        variance as variance,
    )
    from tetraodon.releasing.checking import check as check
    from tetraodon.releasing.compare import compare as compare
    from tetraodon.releasing.folder import load_release as load_release
    from tetraodon.releasing.least_epsilon import plan_for_error as plan_for_error
    from tetraodon.releasing.plan import Plan as Plan, plan as plan, preview as preview
    from tetraodon.releasing.release import Release as Release
    from tetraodon.releasing.reprice import reprice as reprice
    from tetraodon.releasing.run import release as release
    from tetraodon.releasing.simulated import simulate as simulate
    from tetraodon.releasing.synthetic import synthesize as synthesize
    from tetraodon.releasing.together import errors_together as errors_together
    from tetraodon.report.odds_map import picture as picture
    from tetraodon.verifying import verify as verify

__version__ = "0.1.0"

_NAMES = {
    "tetraodon.noise": "noise",
    "tetraodon.pufferfish": "pufferfish",
    "tetraodon.research": "research",
    "tetraodon.certificate": "Certificate certify sensitivity",
    "tetraodon.connecting": "connect",
    "tetraodon.domain": "Attribute Domain",
    "tetraodon.errors": "BudgetExhausted Charged DataRefusal DomainError LedgerError NoiseError Overtaken PolicyError"
    " QueryError Refused ReleaseError TableError TetraodonError",
    "tetraodon.ledger": "Ledger",
    "tetraodon.mechanism.kmeans.estimator": "PolicyKMeans",
    "tetraodon.policy.adversary": "Adversary",
    "tetraodon.policy.draft": "init",
    "tetraodon.policy.edited": "edited",
    "tetraodon.policy.explain": "explain",
    "tetraodon.policy.held": "hold",
    "tetraodon.policy.load": "load_policy",
    "tetraodon.policy.policy": "Policy",
    "tetraodon.publishing.perturb": "Perturbed load_perturbed perturb",
    "tetraodon.publishing.publish": "publish",
    "tetraodon.publishing.view": "View load_view",
    "tetraodon.questions": "cdf correlation count covariance histogram kmeans mean mean_per_person median people "
    "proportion quantiles ranges ratio rectangles regression standard_deviation synthetic total total_per_person "
    "variance",
    "tetraodon.releasing.checking": "check",
    "tetraodon.releasing.compare": "compare",
    "tetraodon.releasing.folder": "load_release",
    "tetraodon.releasing.least_epsilon": "plan_for_error",
    "tetraodon.releasing.plan": "Plan plan preview",
    "tetraodon.releasing.release": "Release",
    "tetraodon.releasing.reprice": "reprice",
    "tetraodon.releasing.run": "release",
    "tetraodon.releasing.simulated": "simulate",
    "tetraodon.releasing.synthetic": "synthesize",
    "tetraodon.releasing.together": "errors_together",
    "tetraodon.report.odds_map": "picture",
    "tetraodon.verifying": "verify",
}
_MOVED = {
    "pufferfish": "Channel Definition Secret World compose optimal_mechanism pairs scenarios",
    "research": "ABSENT Perturbation SecretGraph Sensitivity domain_count frapp oracle perturbation",
}

__all__ = public_names(_NAMES)

if not TYPE_CHECKING:  # hidden from the type check, so that a misspelt name is still found
    __getattr__, __dir__ = lazy_names(__name__, _NAMES, _MOVED, globals())
